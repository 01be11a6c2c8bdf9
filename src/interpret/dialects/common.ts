import { RESOURCE_RANK, type ToolFailure } from '../../model/agent-span.js';
import type { Expectation } from '../../model/expectation.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { Attributes, SpanEvent } from '../../model/span.js';
import { textSource, textSources, type Dialect, type Source } from '../dialect.js';
import { argumentsMatch, expectedAnswer, expectedTools, nameList, sequenceMode, stated } from '../expectations.js';
import { isPlaceholder } from '../placeholders.js';
import { pythonOrText } from '../python-literal.js';
import { textOf, type SpanView } from '../span-view.js';

/*
 * What belongs to no dialect: general OpenTelemetry keys, MCP, status and exceptions, ground truth, and the guesses
 * from mere presence that come last in every classification.
 */

/** Member of the JSON text that OpenInference, LangChain and applications put into `metadata`. */
function metadata(view: SpanView, ...keys: readonly string[]): Json | undefined {
  const value = view.has('metadata') ? pythonOrText(view.json('metadata')) : undefined;
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

function exceptions(view: SpanView): readonly SpanEvent[] {
  const { events } = view.span;
  return events.length === 0 ? events : events.filter((event) => event.name === 'exception');
}

function isInterrupt(event: SpanEvent): boolean {
  return INTERRUPTS.test(textOf(event.attributes, 'exception.type') ?? '');
}

/** How a span says that its operation failed, or that it waits; undefined when it does neither. */
function failure(view: SpanView): ToolFailure | undefined {
  const { span } = view;
  const raised = exceptions(view);
  const errorType = view.text('error.type');
  if (INTERRUPTS.test(errorType ?? '') || INTERRUPTS.test(span.statusMessage) || raised.some(isInterrupt)) {
    return { message: failureMessage(view, raised), interrupt: true };
  }
  const flagged =
    span.statusCode === 2 ||
    errorType !== undefined ||
    // Status OK is set on purpose: an exception beside it was handled.
    (raised.length > 0 && span.statusCode !== 1) ||
    view.text('gen_ai.tool.status') === 'error' ||
    view.text('gen_ai.tool.success') === 'false';
  return flagged ? { message: failureMessage(view, raised), interrupt: false } : undefined;
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

type ResourceFact =
  'conversationId' | 'userId' | 'agentVersion' | 'environment' | 'caseId' | 'dataset' | 'runId' | 'task';

/** A text on the resource, tried after all spans unless the row gives it a place of its own. */
function resourceSource<F extends ResourceFact>(key: string, rank = RESOURCE_RANK): Source<F> {
  return {
    rank,
    source: `resource ${key}`,
    keys: [key],
    on: 'resource',
    read: (view) => view.resourceText(key),
  };
}

function confidentExpectation(rank: number, prefix: string): Source<'expectation'> {
  const [testCase, output, tools] = [`${prefix}llm_test_case`, `${prefix}expected_output`, `${prefix}expected_tools`];
  return {
    rank,
    source: `${prefix}*`,
    keys: [testCase, output, tools],
    read: (view) => {
      const value = view.json(testCase);
      const whole: JsonObject | undefined = value !== undefined && isJsonObject(value) ? value : undefined;
      return stated({
        answer: expectedAnswer(view.get(output) ?? whole?.expected_output),
        tools: expectedTools(view.get(tools) ?? whole?.expected_tools),
      });
    },
  };
}

const PLAIN_ANSWERS = ['expected_output', 'ground_truth', 'reference'];

/** The names that people give ground truth without any product's prefix. */
function plainExpectation(view: SpanView): Expectation | undefined {
  return stated({
    answer: PLAIN_ANSWERS.map((key) => expectedAnswer(view.get(key))).find((text) => text !== undefined),
    tools: expectedTools(view.get('expected_tools')),
  });
}

function metadataExpectation(view: SpanView): Expectation | undefined {
  return stated({
    answer: expectedAnswer(metadata(view, ...PLAIN_ANSWERS)),
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
        keys: ['metadata'],
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
      { rank: 900, source: 'metadata', keys: ['metadata'], read: (view) => metadataText(view, 'user_id', 'userId') },
      resourceSource('user.id'),
    ],
    agentVersion: [
      {
        rank: 500,
        source: 'metadata',
        keys: ['metadata'],
        read: (view) => metadataText(view, 'agent_version', 'version'),
      },
      resourceSource('service.version', 600),
    ],
    environment: [
      textSource(200, 'confident.trace.environment'),
      textSource(300, 'deployment.environment.name'),
      resourceSource('deployment.environment.name', 310),
      textSource(400, 'deployment.environment'),
      resourceSource('deployment.environment', 410),
      { rank: 600, source: 'metadata', keys: ['metadata'], read: (view) => metadataText(view, 'environment') },
    ],
    task: [
      ...textSources<'task'>(100, 'tracegrade.eval.task', 'tracegrade.task'),
      { rank: 200, source: 'metadata', keys: ['metadata'], read: (view) => metadataText(view, 'task') },
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
        kinds: ['tool'],
        read: (view) => {
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
      {
        rank: 100,
        source: 'tracegrade.eval.*',
        keys: ['tracegrade.eval.'],
        read: (view) => tracegradeExpectation(view.span.attributes),
      },
      confidentExpectation(200, 'confident.trace.'),
      confidentExpectation(210, 'confident.trace.llm_test_case.'),
      confidentExpectation(220, 'confident.span.'),
      {
        rank: 400,
        source: 'eval.*',
        keys: ['eval.expected_output', 'eval.expected_tools'],
        read: (view) => expectation('eval.', view.span.attributes),
      },
      {
        rank: 500,
        source: 'expected_output, expected_tools',
        keys: [...PLAIN_ANSWERS, 'expected_tools'],
        read: plainExpectation,
      },
      { rank: 600, source: 'metadata', keys: ['metadata'], read: metadataExpectation },
      {
        rank: RESOURCE_RANK,
        source: 'resource tracegrade.eval.*',
        keys: ['tracegrade.eval.'],
        on: 'resource',
        read: (view) => tracegradeExpectation(view.span.resource.attributes),
      },
    ],
  },
};
