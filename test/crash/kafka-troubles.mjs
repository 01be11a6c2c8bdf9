import { setTimeout as delay } from 'node:timers/promises';

import { shuffled } from './traffic.mjs';
import { waitFor } from './worker-process.mjs';

/** What happens to the workers, the broker and the store, spread over the traffic. */
export function createTroubles({ options, outageMs, broker, clickHouse, crew, sender, records, random, note }) {
  const done = new Map();
  const count = (name) => done.set(name, (done.get(name) ?? 0) + 1);
  let outages = 0;
  let restarts = 0;
  let outage = Promise.resolve();

  const kinds = {
    async kill() {
      count('worker killed');
      await crew.take(random).kill();
      await delay(random() * 2_000);
      await crew.add();
    },
    async add() {
      count('worker added');
      await crew.add();
    },
    async remove() {
      // One may be killed in this moment, and another by an outage.
      if (crew.size <= 2) return;
      count('worker removed');
      crew.leave(crew.take(random));
    },
    async restart() {
      count('broker restarted');
      sender.whole = true;
      await waitFor('interactions to be whole', () => sender.parted === 0 || sender.done, 120_000);
      await (restarts++ % 2 === 0 ? broker.kill() : broker.stop());
      // A worker dies with it, and another starts before it is back.
      await kinds.kill();
      await broker.start();
      sender.whole = false;
    },
    async outage() {
      await outage;
      count('store away');
      outage = away(outages++ % 2 === 0 ? 'hang' : 'refuse');
      outage.catch(() => undefined);
    },
    async cut() {
      await outage;
      count('answers of the store cut');
      await clickHouse.fault('cut', 2);
    },
  };

  /** Longer than a late window, so that a row that waits is all that its entries are held for; then its worker dies. */
  async function away(how) {
    await clickHouse.fault(how);
    await delay(outageMs + random() * 2_000);
    count('worker killed');
    await crew.take(random).kill();
    if (how === 'hang') {
      await clickHouse.kill();
      await clickHouse.start();
    } else {
      await clickHouse.fault('none');
    }
    await crew.add();
  }

  return {
    summary: () => [...done].map(([name, times]) => `${times} x ${name}`).join(', '),

    async run() {
      const times = (name) => (name === 'kill' ? options.kills : options.others);
      const names = shuffled(
        Object.keys(kinds).flatMap((name) => Array(times(name)).fill(name)),
        random,
      );
      for (const [at, name] of names.entries()) {
        const share = 0.05 + (0.8 * (at + random())) / names.length;
        await waitFor('traffic', () => sender.sent >= share * records.length || sender.done, 600_000);
        note(`${name}, ${sender.sent} of ${records.length} records written`);
        await kinds[name]();
      }
      await outage;
    },
  };
}
