import { RESOURCE_RANK, type ToolFailure } from '../../model/agent-span.js';
import type { Expectation } from '../../model/expectation.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { Attributes, SpanEvent } from '../../model/span.js';
import { textSource, textSources, type Dialect, type Source } from '../dialect.js';
import { argumentsMatch, expectedAnswer, expectedTools, nameList, sequenceMode, stated } from '../expectations.js';
import { isPlaceholder } from '../placeholders.js';
import { textOf, type SpanView } from '../span-view.js';

/*
 * What belongs to no dialect: general OpenTelemetry keys, MCP, status and exceptions, ground truth, and the guesses
 * from mere presence that come last in every classification.
 */

/** Member of the JSON text that OpenInference, LangChain and applications put into `metadata`. */
function metadata(view: SpanView, ...keys: readonly string[]): Json | undefined {
  const value = view.has('metadata') ? view.json('metadata') : undefined;
  if (value === undefined || !isJsonObject(value)) return undefined;
  for (const key of keys) {
    const member = Object.hasOwn(value, key) ? value[key] : undefined;
    if (member !== undefined && member !== null && !(typeof member === 'string' && isPlaceholder(member)))
      return member;
  }
  return undefined;
}

function metadataText(view: SpanView, ...keys: readonly string[]): string | undefined {
  const value = metadata(view, ...keys);
  return typeof value === 'string' ? value.toWellFormed() : typeof value === 'number' ? String(value) : undefined;
}

const METADATA_SESSION = ['session_id', 'thread_id', 'conversation_id', 'sessionId', 'threadId', 'conversationId'];

/** Exceptions by which frameworks leave a run to wait for somebody; they are no failures. */
const INTERRUPTS =
  /(?:^|[.\s'"])(?:GraphInterrupt|NodeInterrupt|GraphBubbleUp|ParentCommand|ApprovalRequired|CallDeferred)\b/;

function exceptions(view: SpanView): SpanEvent[] {
  return view.span.events.filter((event) => event.name === 'exception');
}

/** How a span says that its operation failed, or that it waits; undefined when it does neither. */
function failure(view: SpanView): ToolFailure | undefined {
  const { span } = view;
  const raised = exceptions(view);
  const message = failureMessage(view, raised);
  const type = raised.map((event) => textOf(event.attributes, 'exception.type') ?? '').join(' ');
  if (INTERRUPTS.test(type) || INTERRUPTS.test(span.statusMessage)) return { message, interrupt: true };
  const errorType = view.text('error.type');
  const flagged =
    span.statusCode === 2 ||
    errorType !== undefined ||
    // Status OK is set on purpose: an exception beside it was handled.
    (raised.length > 0 && span.statusCode !== 1) ||
    view.text('gen_ai.tool.status') === 'error' ||
    view.text('gen_ai.tool.success') === 'false';
  return flagged ? { message, interrupt: false } : undefined;
}

function failureMessage(view: SpanView, raised: readonly SpanEvent[]): string | null {
  if (!isPlaceholder(view.span.statusMessage)) return view.span.statusMessage.toWellFormed();
  for (const event of raised) {
    const text = textOf(event.attributes, 'exception.message');
    if (text !== undefined) return text;
  }
  return view.text('error.message') ?? view.text('exception.message') ?? null;
}

const SPAN_NAME_PREFIX = /^(?:execute_tool |tool\.execute |tool_call |tools\/call |running tool: )/;
const SPAN_NAME_SUFFIX = /\.tool$/;

function expectation(prefix: string, attributes: Attributes): Expectation | undefined {
  return stated({
    answer: expectedAnswer(attributes.get(`${prefix}expected_output`)),
    tools: expectedTools(attributes.get(`${prefix}expected_tools`)),
  });
}

function tracegradeExpectation(attributes: Attributes): Expectation | undefined {
  const resultsUsed = attributes.get('tracegrade.eval.results_used');
  return stated({
    ...expectation('tracegrade.eval.', attributes),
    mode: sequenceMode(textOf(attributes, 'tracegrade.eval.expected_tools.mode')),
    argumentsMatch: argumentsMatch(textOf(attributes, 'tracegrade.eval.expected_arguments.match')),
    forbiddenTools: nameList(attributes.get('tracegrade.eval.forbidden_tools')),
    allowedTools: nameList(attributes.get('tracegrade.eval.allowed_tools')),
    resultsUsed: typeof resultsUsed === 'boolean' ? resultsUsed : undefined,
  });
}

/** A text on the resource, tried after all spans. */
function resourceSource<F extends 'conversationId' | 'userId' | 'caseId' | 'dataset' | 'runId' | 'task'>(
  key: string,
): Source<F> {
  return {
    rank: RESOURCE_RANK,
    source: `resource ${key}`,
    read: (view) => view.resourceText(key),
  };
}

function confidentExpectation(prefix: string) {
  return (view: SpanView): Expectation | undefined => {
    const testCase = view.json(`${prefix}llm_test_case`);
    const whole: JsonObject | undefined = testCase !== undefined && isJsonObject(testCase) ? testCase : undefined;
    return stated({
      answer: expectedAnswer(view.get(`${prefix}expected_output`) ?? whole?.expected_output),
      tools: expectedTools(view.get(`${prefix}expected_tools`) ?? whole?.expected_tools),
    });
  };
}

/** The names that people give ground truth without any product's prefix. */
function plainExpectation(view: SpanView): Expectation | undefined {
  return stated({
    answer: ['expected_output', 'ground_truth', 'reference']
      .map((key) => expectedAnswer(view.get(key)))
      .find((text) => text !== undefined),
    tools: expectedTools(view.get('expected_tools')),
  });
}

function metadataExpectation(view: SpanView): Expectation | undefined {
  return stated({
    answer: expectedAnswer(metadata(view, 'expected_output', 'ground_truth', 'reference')),
    tools: expectedTools(metadata(view, 'expected_tools')),
  });
}

export const common: Dialect = {
  name: 'generic',
  kinds: [
    { order: 1400, key: 'mcp.method.name', read: (value) => (value === 'tools/call' ? 'tool' : 'mcp') },
    ...['ai.toolCall.name', 'tool_name'].map((key) => ({ order: 1550, key, guess: true, read: () => 'tool' as const })),
    { order: 1650, key: 'ai.model.id', guess: true, read: () => 'llm' as const },
  ],
  facts: {
    conversationId: [
      textSource(200, 'session.id'),
      {
        rank: 1400,
        source: 'metadata',
        read: (view) => metadataText(view, ...METADATA_SESSION),
      },
      ...textSources<'conversationId'>(1500, 'thread_id', 'threadId', 'sessionId', 'session_id', 'conversation_id'),
      textSource(350, 'confident.trace.thread_id'),
      resourceSource('session.id'),
    ],
    userId: [
      textSource(100, 'user.id'),
      textSource(300, 'enduser.id'),
      textSource(400, 'confident.trace.user_id'),
      { rank: 900, source: 'metadata', read: (view) => metadataText(view, 'user_id', 'userId') },
      resourceSource('user.id'),
    ],
    agentVersion: [
      { rank: 500, source: 'metadata', read: (view) => metadataText(view, 'agent_version', 'version') },
      { rank: 600, source: 'resource service.version', read: (view) => view.resourceText('service.version') },
    ],
    environment: [
      textSource(200, 'confident.trace.environment'),
      textSource(300, 'deployment.environment.name'),
      {
        rank: 310,
        source: 'resource deployment.environment.name',
        read: (view) => view.resourceText('deployment.environment.name'),
      },
      textSource(400, 'deployment.environment'),
      {
        rank: 410,
        source: 'resource deployment.environment',
        read: (view) => view.resourceText('deployment.environment'),
      },
      { rank: 600, source: 'metadata', read: (view) => metadataText(view, 'environment') },
    ],
    task: [
      ...textSources<'task'>(100, 'tracegrade.eval.task', 'tracegrade.task'),
      { rank: 200, source: 'metadata', read: (view) => metadataText(view, 'task') },
      resourceSource('tracegrade.eval.task'),
    ],
    agentName: [textSource(300, 'confident.agent.name'), textSource(400, 'agent_name')],
    query: [textSource(100, 'confident.trace.input', (text) => ({ text }))],
    answer: [textSource(100, 'confident.trace.output', (text) => ({ text }))],
    toolName: [
      textSource(500, 'confident.tool.name'),
      {
        rank: 900,
        source: 'span name',
        read: (view) => {
          if (view.kind !== 'tool') return undefined;
          const name = view.span.name.replace(SPAN_NAME_PREFIX, '').replace(SPAN_NAME_SUFFIX, '').trim();
          return name === '' ? undefined : name;
        },
      },
    ],
    toolFailure: [{ rank: 100, source: 'status, error.type, exception', read: failure }],
    caseId: [
      textSource(100, 'tracegrade.eval.case_id'),
      textSource(200, 'confident.trace.test_case_id'),
      resourceSource('tracegrade.eval.case_id'),
    ],
    dataset: [textSource(100, 'tracegrade.eval.dataset'), resourceSource('tracegrade.eval.dataset')],
    runId: [
      textSource(100, 'tracegrade.eval.run_id'),
      textSource(200, 'confident.trace.test_run_id'),
      resourceSource('tracegrade.eval.run_id'),
    ],
    expectation: [
      { rank: 100, source: 'tracegrade.eval.*', read: (view) => tracegradeExpectation(view.span.attributes) },
      { rank: 200, source: 'confident.trace.*', read: confidentExpectation('confident.trace.') },
      {
        rank: 210,
        source: 'confident.trace.llm_test_case.*',
        read: confidentExpectation('confident.trace.llm_test_case.'),
      },
      { rank: 220, source: 'confident.span.*', read: confidentExpectation('confident.span.') },
      { rank: 400, source: 'eval.*', read: (view) => expectation('eval.', view.span.attributes) },
      { rank: 500, source: 'expected_output, expected_tools', read: plainExpectation },
      { rank: 600, source: 'metadata', read: metadataExpectation },
      {
        rank: RESOURCE_RANK,
        source: 'resource tracegrade.eval.*',
        read: (view) => tracegradeExpectation(view.span.resource.attributes),
      },
    ],
  },
};
