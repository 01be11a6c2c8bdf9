"""Times the tool correctness of gaussia and deepeval, and gaussia's Bayesian figures, where they are installed.

Reads {"workloads": [{"workload", "calls", "used", "expected"}], "rounds", "evaluations"} from standard input, so that
both sides time the same calls, and writes {"versions", "tools": [{"library", "workload", "calls", "micros"}],
"estimateMicros"} to standard output; estimateMicros is null without gaussia. Times are CPU microseconds of one
evaluation, the median of the rounds.

    python -m venv venv && venv/bin/pip install gaussia deepeval
    npm run bench -- --python venv/bin/python
"""

import importlib.metadata
import json
import logging
import os
import statistics
import sys
import time

# Before the imports: a benchmark reports to nobody.
os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_DISABLE_DOTENV="1", DO_NOT_TRACK="1")


def median_micros(work, evaluations, rounds):
    for _ in range(evaluations):
        work()
    times = []
    for _ in range(rounds):
        before = time.process_time_ns()
        for _ in range(evaluations):
            work()
        times.append((time.process_time_ns() - before) / evaluations / 1e3)
    return statistics.median(times)


def gaussia_agentic():
    from gaussia.metrics.agentic import Agentic

    # Tool correctness needs neither a data set nor a model.
    agentic = object.__new__(Agentic)
    agentic.tool_weights = {part: 0.25 for part in ("selection", "parameters", "sequence", "utilization")}
    agentic.tool_threshold = 1.0
    logging.disable(logging.CRITICAL)
    return agentic


def gaussia_tools(request):
    agentic = gaussia_agentic()
    for load in request["workloads"]:
        made = {"tools_used": load["used"], "final_answer_uses_tools": True}
        truth = {"expected_tools": load["expected"], "tool_sequence_matters": True}
        work = lambda: agentic._evaluate_tool_correctness(made, truth)
        yield load, median_micros(work, request["evaluations"], request["rounds"])


def gaussia_estimate(request):
    """One of the two figures of a conversation: half of what both take."""
    import numpy as np
    from gaussia.statistical import BayesianMode

    mode = BayesianMode()

    def work():
        samples = mode.rate_estimation(70, 100)["samples"]
        for figure in (1.0 - (1.0 - samples) ** 3, samples**3):
            np.mean(figure), np.quantile(figure, 0.025), np.quantile(figure, 0.975)

    return median_micros(work, max(1, request["evaluations"] // 20), request["rounds"]) / 2


def deepeval_tools(request):
    from deepeval.metrics import ToolCorrectnessMetric
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams

    class NoModel(DeepEvalBaseLLM):
        """Tool correctness without a list of available tools asks no model."""

        def load_model(self):
            return self

        def generate(self, *args, **kwargs):
            raise NotImplementedError

        async def a_generate(self, *args, **kwargs):
            raise NotImplementedError

        def get_model_name(self):
            return "none"

    def call(one):
        return ToolCall(name=one["tool_name"], input_parameters=one["parameters"])

    metric = ToolCorrectnessMetric(
        model=NoModel(),
        async_mode=False,
        evaluation_params=[ToolCallParams.INPUT_PARAMETERS],
        should_consider_ordering=True,
    )
    for load in request["workloads"]:
        case = LLMTestCase(
            input="-",
            actual_output="-",
            tools_called=[call(one) for one in load["used"]],
            expected_tools=[call(one) for one in load["expected"]],
        )
        work = lambda: metric.measure(case, _show_indicator=False)
        yield load, median_micros(work, max(1, request["evaluations"] // 20), request["rounds"])


def installed(library):
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    request = json.load(sys.stdin)
    # What the libraries print themselves must not end up in the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    timed = {"gaussia": gaussia_tools, "deepeval": deepeval_tools}
    versions = {library: installed(library) for library in timed}
    tools = [
        {"library": library, "workload": load["workload"], "calls": load["calls"], "micros": micros}
        for library, time_tools in timed.items()
        if versions[library]
        for load, micros in time_tools(request)
    ]
    estimate = gaussia_estimate(request) if versions["gaussia"] else None
    json.dump({"versions": versions, "tools": tools, "estimateMicros": estimate}, answer)


main()
