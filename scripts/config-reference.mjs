// Writes docs/configuration.md from the schema in dist/config.js; with --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { configKeys } from '../dist/config.js';

const page = new URL('../docs/configuration.md', import.meta.url);
const cell = (value) => String(value).replaceAll('|', '\\|');
const shown = (value) => (value === undefined ? '' : `\`${cell(JSON.stringify(value))}\``);

const rows = configKeys().map(
  ({ path, type, range, ...key }) =>
    `| \`${path.join('.')}\` | ${cell(type)} | ${cell(range)} | ${shown(key.default)} | ${cell(key.description)} |`,
);
const text = `# Configuration

One YAML file (\`--config FILE\`, \`TRACEGRADE_CONFIG\`, or \`tracegrade.yaml\` in the working directory). Each key can also
be given as \`--set key.path=value\` and as an environment variable: \`TRACEGRADE_\` and the path in upper case with \`__\`
between the parts (\`TRACEGRADE_RECEIVE__HTTP__PORT=4320\`); words of a part may be parted by \`_\` (\`ASSEMBLE__QUIET_MS\`,
\`ASSEMBLE__QUIETMS\`). \`--set\` wins over the environment, the environment over the file. Values outside the file are read
as YAML, so \`[a, b]\` is a list. In the file \`\${NAME}\` and \`\${NAME:-default}\` are taken from the environment: secrets
belong there. All faults are reported at once, before anything starts.

This page is made from the schema (\`npm run docs\`).

| key | type | values | default | meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`;

if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    console.error('docs/configuration.md is not what the schema says: run npm run docs');
    process.exit(1);
  }
} else {
  writeFileSync(page, text);
}
