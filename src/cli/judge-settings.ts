import { trace } from '@opentelemetry/api';
import type { Config } from '../config.js';
import { DEFAULT_JUDGE_CONFIG, judgePolicy, type JudgeConfig } from '../judge/config.js';
import type { JudgeModel } from '../judge/judge-model.js';
import type { JudgeEvents } from '../judge/judge.js';
import { langChainModel, loadChatModel, openAiModel } from '../judge/langchain.js';
import { JUDGE_SCOPE, tracedModel } from '../judge/traced-model.js';
import type { JsonObject } from '../model/json.js';
import { compileRedaction, type Redaction } from '../score/redact.js';
import { openJudge, type JudgeSettings, type OpenJudge } from '../worker/live-judge.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';

/** What of the judge decides verdicts; null: none is configured. */
export function judgePolicySettings({ judge }: Config): JsonObject | null {
  const { model, module, className, revision, temperature, useStructuredOutput } = judge;
  if (model === undefined) return null;
  const client = module === undefined || className === undefined ? null : `${module} ${className}`;
  return judgePolicy({ model, client, revision, temperature, useStructuredOutput }, judgeConfig(judge).plan);
}

/** The judge of the configuration; null: there is none. Throws a CommandError when it cannot be made. */
export async function judgeSettings(config: Config, io: Io): Promise<JudgeSettings | null> {
  const { judge } = config;
  if (judge.model === undefined) return null;
  const model = tracedModel(
    await modelOf(judge, judge.model, io),
    { model: judge.model },
    trace.getTracer(JUDGE_SCOPE),
  );
  const { sampling, holdMs, healEveryMs } = judge;
  return { model, config: judgeConfig(judge), sampling, redaction: redactionOf(config), holdMs, healEveryMs };
}

/** What is taken out of texts; null: nothing is configured. Throws a CommandError that lists unusable patterns. */
export function redactionOf({ judge }: Config): Redaction | null {
  const { keys, patterns } = judge.redact;
  if (keys.length === 0 && patterns.length === 0) return null;
  try {
    return compileRedaction({ keys, patterns });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(`judge.${error.message}`, ExitStatus.usage);
    throw error;
  }
}

/** For a command that stores nothing: answers are kept in memory alone. `null`: no judge is configured. */
export async function offlineJudge(config: Config, io: Io, on: JudgeEvents): Promise<OpenJudge | null> {
  const settings = await judgeSettings(config, io);
  if (settings === null) return null;
  const judging = openJudge(settings, { keptIn: null, nowMs: io.nowMs, random: io.random, on });
  io.stop.addEventListener('abort', () => judging.judge.close(), { once: true });
  return judging;
}

function judgeConfig(judge: Config['judge']): JudgeConfig {
  const { maxPromptTokens, maxCallsPerRequest, together, concurrency, maxWaiting } = judge;
  const { timeoutMs, deadlineMs, attempts, backoffMs, maxBackoffMs, breakerFailures, breakerOpenMs, cacheEntries } =
    judge;
  return {
    ...DEFAULT_JUDGE_CONFIG,
    plan: { maxPromptTokens, maxCallsPerRequest, together },
    concurrency,
    fullAt: maxWaiting,
    // What is assembled already may still come when the source is paused.
    maxInFlight: 4 * maxWaiting,
    requestsPerMinute: judge.requestsPerMinute ?? null,
    tokensPerMinute: judge.tokensPerMinute ?? null,
    tokensPerDay: judge.tokensPerDay ?? null,
    timeoutMs,
    deadlineMs,
    attempts,
    backoffMs,
    maxBackoffMs,
    breakerFailures,
    breakerOpenMs,
    cacheEntries,
  };
}

async function modelOf(judge: Config['judge'], model: string, io: Io): Promise<JudgeModel> {
  const { baseUrl, apiKeyEnv, module, className, settings, temperature, maxOutputTokens, useStructuredOutput } = judge;
  if (module !== undefined && className !== undefined) {
    const given = { model, ...(temperature === null ? {} : { temperature }), ...settings };
    try {
      return langChainModel(await loadChatModel(module, className, given), { useStructuredOutput }, io);
    } catch (error) {
      const why = error instanceof TypeError ? error.message : `judge.module: ${module} cannot be loaded`;
      throw new CommandError(why, ExitStatus.usage);
    }
  }
  const apiKey = io.env[apiKeyEnv];
  if ((apiKey ?? '') === '' && new URL(baseUrl).hostname === OPENAI) {
    throw new CommandError(`judge.model is set, and the environment has no ${apiKeyEnv}`, ExitStatus.usage);
  }
  const key = (apiKey ?? '') === '' ? {} : { apiKey: apiKey as string };
  return openAiModel({ model, baseUrl, ...key, temperature, maxOutputTokens, useStructuredOutput }, io);
}

const OPENAI = 'api.openai.com';
