import type { Config } from '../config.js';
import { windowNamed } from '../estimate/windows.js';
import type { RollupRules } from '../rollup/rules.js';
import type { StoreConfig } from '../store/engine.js';
import { readDatasetPaths } from '../score/dataset-files.js';
import type { DatasetFault } from '../score/datasets.js';
import { buildExpectationIndex, type ExpectationIndex } from '../score/expectations.js';
import { resolvePolicy, type ScoringPolicy } from '../score/policy.js';
import type { AlertRules, WatchedObjective } from '../rollup/alert-rules.js';
import type { AlertingRules } from '../rollup/alerting.js';
import type { Events } from '../telemetry/events.js';
import { openDatasets, type WatchedDatasets } from '../watched-datasets.js';
import { CommandError, ExitStatus } from './exit-status.js';
import { judgePolicySettings } from './judge-settings.js';

/** The scoring policy of the configuration. Throws a CommandError that lists every fault. */
export function scoringPolicy(config: Config): ScoringPolicy {
  const { score } = config;
  const { owners, coerce, threshold, weights, utilizationByRule } = score.tools;
  try {
    return resolvePolicy({
      required: score.required,
      tools: { threshold, weights, owners, utilizationByRule, arguments: { coerce } },
      arguments: { ...score.arguments, owners },
      answer: score.answer,
      enabled: { completion: score.completion.enabled },
      completion: { threshold: score.completion.threshold },
      policy: score.policy,
      judge: judgePolicySettings(config),
    });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(`score: ${error.message}`, ExitStatus.usage);
    throw error;
  }
}

/** The ground truth of all dataset files. Throws a CommandError that lists what cannot be used, with its place. */
export async function loadExpectations(paths: readonly string[]): Promise<ExpectationIndex> {
  const { turns, faults } = await readDatasetPaths(paths);
  if (faults.length > 0) throw datasetFaults(faults);
  return buildExpectationIndex(turns);
}

/** As `loadExpectations`, of files that are read again when they change. */
export async function watchedExpectations(paths: readonly string[], events: Events): Promise<WatchedDatasets> {
  const opened = await openDatasets(paths, events);
  if (opened.status === 'faulty') throw datasetFaults(opened.faults);
  return opened.datasets;
}

function datasetFaults(faults: readonly DatasetFault[]): CommandError {
  const shown = faults.slice(0, 20).map((fault) => `  ${fault.place}: ${fault.problem}`);
  const more = faults.length > 20 ? `\n  ... and ${faults.length - 20} more` : '';
  return new CommandError(`the datasets have faults:\n${shown.join('\n')}${more}`, ExitStatus.usage);
}

/** What the rollup computes. */
export function rollupRules(config: Config): RollupRules {
  const { k, prior, level, windows, margin, tickMs } = config.estimate;
  return {
    idleMs: config.conversation.idleMs,
    tickMs,
    windows: windows.map(windowNamed),
    figures: { ks: k, prior, level },
    margin,
  };
}

/** Where the store is. */
export function storeConfig(config: Config): StoreConfig {
  const { url, database, username, password, cluster, ttlDays } = config.store;
  return {
    url,
    database,
    username,
    password,
    dataDir: config.dataDir,
    ...(cluster === undefined ? {} : { cluster }),
    ...(ttlDays === undefined ? {} : { ttlDays }),
  };
}

/** What alerts are raised on, and who is told. */
export function alertingRules(config: Config): AlertingRules {
  const { urls, timeoutMs, maxAgeMs } = config.alert.webhook;
  return { alerts: alertRules(config), webhook: { urls, timeoutMs, maxAgeMs } };
}

function alertRules({ alert, estimate }: Config): AlertRules {
  const { alphaClose, minOpenMs, pageCertainty, waitMs, supersededMs, blind, baseline } = alert;
  const common = { alphaClose, minOpenMs, pageCertainty, prior: estimate.prior };
  const objectives = alert.objectives.map((one): WatchedObjective => {
    const { name, passPowK, k = 1, successRate = 0, assistants, environments } = one;
    const { delta = alert.delta, falseAlarmDays = alert.falseAlarmDays } = one;
    const target =
      passPowK === undefined
        ? ({ kind: 'success_rate', atLeast: successRate } as const)
        : ({ kind: 'pass_pow_k', atLeast: passPowK, k } as const);
    return { ...common, name, target, delta, falseAlarmDays, assistants, environments };
  });
  if (baseline.enabled) {
    const target = { kind: 'baseline', conversations: baseline.conversations } as const;
    const { delta, falseAlarmDays } = alert;
    objectives.push({ ...common, name: 'baseline', target, delta, falseAlarmDays, assistants: [], environments: [] });
  }
  const { afterMs, outstandingShare, silentMs, lagMs, lagForMs: forMs, judgeMs, severity } = blind;
  const { conversations: window, unscoredConversations: unscoredRun } = blind;
  return {
    objectives,
    waitMs,
    supersededMs,
    blind: { window, outstandingShare, unscoredRun, afterMs, silentMs, lagMs, forMs, judgeMs, severity },
  };
}
