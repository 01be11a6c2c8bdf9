/** What has to be done however a run ends: processes killed, directories removed. The last thing made goes first. */
const steps = [];

/** @param {() => unknown} step */
export function atEnd(step) {
  steps.push(step);
}

export async function cleanUp() {
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    try {
      await step();
    } catch (error) {
      process.stderr.write(`cleaning up: ${error.message}\n`);
    }
  }
}
