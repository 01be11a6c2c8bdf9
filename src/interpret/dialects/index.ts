import type { Dialect } from '../dialect.js';
import { common } from './common.js';
import { openinference } from './openinference.js';
import { otelGenai } from './otel-genai.js';
import { vercelAi } from './vercel-ai.js';

/** All dialects that are read. A new dialect is a new file and one line here. */
export const DIALECTS: readonly Dialect[] = [openinference, otelGenai, vercelAi, common];
