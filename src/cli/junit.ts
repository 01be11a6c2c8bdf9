import type { AgenticMetric, InteractionResult } from '../batch/agentic-metric.js';

/** A gate as a test: what it looks at, and why it was missed; null: it held. */
export interface GateResult {
  readonly name: string;
  readonly missed: string | null;
}

/**
 * JUnit's XML, as Jenkins, GitLab and GitHub actions read it: a suite a conversation, a test case an interaction. An
 * interaction that nobody could decide is skipped, not failed. Written piece by piece, so that a suite is the most that
 * is in memory.
 */
export const JUNIT_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="tracegrade evaluate">\n';
export const JUNIT_TAIL = '</testsuites>\n';

export function conversationSuite(metric: AgenticMetric): string {
  const { session_id, assistant_id, interactions } = metric;
  const cases = interactions.map((result, i) => {
    const name = result.qa_id ?? `interaction ${i + 1}`;
    return testCase(session_id, name, outcomeOf(result));
  });
  const failures = interactions.filter(({ verdict }) => verdict === 'incorrect').length;
  const skipped = interactions.filter(({ verdict }) => verdict === 'unscored' || verdict === 'neutral').length;
  return suite(assistant_id === null ? session_id : `${assistant_id} ${session_id}`, cases, failures, skipped);
}

export function gateSuite(gates: readonly GateResult[]): string {
  if (gates.length === 0) return '';
  const cases = gates.map(({ name, missed }) =>
    testCase('gates', name, missed === null ? null : { tag: 'failure', message: missed }),
  );
  return suite('gates', cases, gates.filter(({ missed }) => missed !== null).length, 0);
}

interface NotPassed {
  readonly tag: 'failure' | 'skipped';
  readonly message: string;
}

function outcomeOf({ verdict, reason }: InteractionResult): NotPassed | null {
  if (verdict === 'correct') return null;
  return { tag: verdict === 'incorrect' ? 'failure' : 'skipped', message: reason };
}

function suite(name: string, cases: readonly string[], failures: number, skipped: number): string {
  const counts = `tests="${cases.length}" failures="${failures}" errors="0" skipped="${skipped}"`;
  return `  <testsuite name="${attribute(name)}" ${counts}>\n${cases.join('')}  </testsuite>\n`;
}

function testCase(suiteName: string, name: string, notPassed: NotPassed | null): string {
  const head = `    <testcase classname="${attribute(suiteName)}" name="${attribute(name)}"`;
  if (notPassed === null) return `${head}/>\n`;
  const { tag, message } = notPassed;
  return `${head}>\n      <${tag} message="${attribute(message)}"/>\n    </testcase>\n`;
}

// What XML 1.0 (section 2.2, Char) cannot hold, not even escaped.
const ILLEGAL = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // Else a reader turns them into blanks (section 3.3.3).
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/** The text of an attribute's value in double quotes; what XML cannot hold becomes U+FFFD. */
export function attribute(text: string): string {
  return text.replace(ILLEGAL, '\uFFFD').replace(/[&<>"\t\n\r]/g, (char) => ESCAPED[char] as string);
}
