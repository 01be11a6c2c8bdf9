// Gaussia's batch metric on the data set of its own page: node docs/examples/batch-metric.mjs
import { BayesianMode, createAgentic, FrequentistMode } from 'tracegrade';

const conversation = {
  session_id: 'conversation_001',
  assistant_id: 'agent_v1',
  language: 'english',
  context: 'Math calculator conversation',
  conversation: [
    {
      qa_id: 'q1_interaction1',
      query: 'What is 5 + 3?',
      assistant: 'The result is 8.',
      ground_truth_assistant: '8',
      agentic: {
        tools_used: [{ tool_name: 'calculator', parameters: { a: 5, b: 3 }, result: 8, step: 1 }],
        final_answer_uses_tools: true,
      },
      ground_truth_agentic: {
        expected_tools: [{ tool_name: 'calculator', parameters: { a: 5, b: 3 }, step: 1 }],
        tool_sequence_matters: false,
      },
    },
    {
      qa_id: 'q1_interaction2',
      query: 'What is 100 / 4?',
      assistant: '100 divided by 4 is 25.',
      ground_truth_assistant: '25',
    },
  ],
};

const agentic = createAgentic({
  k: 3,
  threshold: 0.7,
  toolWeights: { selection: 0.4, parameters: 0.2, sequence: 0.1, utilization: 0.3 },
  statisticalMode: new BayesianMode({ level: 0.95 }),
});
const metric = await agentic.evaluate(conversation);

console.log(`${metric.session_id}: ${metric.correct_interactions} of ${metric.total_interactions} turns correct`);
console.log(`  tools: ${metric.tool_correctness_scores[0].reasoning}`);
show('of its turns', metric);
show('of conversations', agentic.summary().conversations_as_trials);

// The figures of the page: 7 of 10, K = 3.
for (const mode of [new FrequentistMode(), new BayesianMode()]) {
  const { pass_at_k, pass_pow_k } = mode.figures(10, 7, 3);
  console.log(`7 of 10, ${mode.name}: pass@3 ${text(pass_at_k)}, pass^3 ${text(pass_pow_k)}`);
}

// A mode of your own is an object with a name and `figures`: here the lower end stands for the whole.
const exact = new BayesianMode({ level: 0.9 });
const cautious = {
  name: 'cautious',
  figures(trials, correct, k) {
    const figures = exact.figures(trials, correct, k);
    const lowest = ({ low }) => ({ mean: low, low: null, high: null });
    return { pass_at_k: lowest(figures.pass_at_k), pass_pow_k: lowest(figures.pass_pow_k) };
  },
};
const careful = await createAgentic({ k: 3, statisticalMode: cautious }).evaluate(conversation);
console.log(`cautious: pass@3 ${careful.pass_at_k.toFixed(3)}`);

function show(what, figures) {
  const { pass_at_k, pass_at_k_ci_low, pass_at_k_ci_high, pass_pow_k, pass_pow_k_ci_low, pass_pow_k_ci_high } = figures;
  console.log(`  pass@3 ${what}: ${text({ mean: pass_at_k, low: pass_at_k_ci_low, high: pass_at_k_ci_high })}`);
  console.log(`  pass^3 ${what}: ${text({ mean: pass_pow_k, low: pass_pow_k_ci_low, high: pass_pow_k_ci_high })}`);
}

function text({ mean, low, high }) {
  return low === null ? mean.toFixed(3) : `${mean.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}
