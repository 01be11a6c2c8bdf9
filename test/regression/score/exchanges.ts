import type { Json } from '../../../src/model/json.js';

/** One call and an answer, with what a careful reader says: was the result used? */
export interface WrittenExchange {
  readonly query: string;
  readonly arguments: Json;
  readonly result: Json;
  readonly answer: string;
}

const MARSBY = { query: 'How warm is it in Marsby?', arguments: { city: 'Marsby' } };
const ORDER = { query: 'Where is my order A-1042?', arguments: { order_id: 'A-1042' } };

/** The answer uses the result and states a value of it, in one of the forms that people use. */
export const USED_AND_STATED: readonly WrittenExchange[] = [
  { ...MARSBY, result: { temperature: 22.64 }, answer: 'It is about 23 degrees in Marsby.' },
  { ...MARSBY, result: { temperature: 22.64 }, answer: 'Around 22.6 °C right now.' },
  { ...MARSBY, result: { temperature: -5, sky: 'clear' }, answer: 'Marsby hat 5 Grad unter null.' },
  { ...MARSBY, result: '21 C, light rain', answer: 'Take an umbrella: **21°C** with some rain.' },
  { ...ORDER, result: { status: 'in_transit' }, answer: 'Your order A-1042 is in transit.' },
  { ...ORDER, result: { eta: '2031-03-03' }, answer: 'It should arrive on March 3.' },
  { ...ORDER, result: { eta: '2031-03-03T00:00:00Z' }, answer: 'Ankunft am 3. März 2031.' },
  { ...ORDER, result: { total: 1234.5, currency: 'EUR' }, answer: 'Sie kostet 1.234,50 €.' },
  { ...ORDER, result: { amount: 123450, currency: 'usd' }, answer: 'You paid $1,234.50 for it.' },
  {
    ...ORDER,
    result: [{ depot: 'Marsby depot' }, { depot: 'Copper Bay' }],
    answer: 'It left the depot in Marsby today.',
  },
  { ...ORDER, result: { items: 3 }, answer: 'Three items, all packed.' },
  { ...ORDER, result: { cancelled: true }, answer: 'Order A-1042 was cancelled.' },
  { ...ORDER, result: { refundable: false }, answer: 'I am afraid that it is not refundable.' },
  { query: 'How full is the disk?', arguments: {}, result: { used: 0.256 }, answer: 'The disk is 26 % full.' },
  { query: 'How many users do we have?', arguments: {}, result: 1234567, answer: 'Roughly 1.2 million.' },
  {
    query: 'When is the meeting with Jo?',
    arguments: { who: 'Jo' },
    result: { start: '2031-06-05T19:00:00+02:00' },
    answer: 'At 7 pm.',
  },
  {
    query: 'Who runs the Copper Kettle?',
    arguments: { name: 'Copper Kettle' },
    result: { owner: 'José Núñez' },
    answer: 'jose nunez owns it.',
  },
  {
    query: 'What does the handbook say about leave?',
    arguments: { q: 'leave' },
    result:
      'Employees who have completed their first year are entitled to 28 days of paid leave. Requests go to Anna Lind, who answers within a week or passes them on.',
    answer: 'You get 28 days a year.',
  },
  {
    query: 'Reserve the room.',
    arguments: { room: 'Blue' },
    result: '{"ok":true,"reference":"RM-77-310"}',
    answer: 'Done, the reference is RM-77-310.',
  },
  {
    query: 'Which tables are free?',
    arguments: {},
    result: { content: [{ type: 'text', text: '["T1","T2"]' }], isError: false },
    answer: '- `T1`\n- `T2`',
  },
];

/** The answer uses the result without stating a value of it: only a judge can tell. */
export const USED_UNSTATED: readonly WrittenExchange[] = [
  {
    ...MARSBY,
    query: 'Do I need a coat in Marsby?',
    result: { temperature: 27 },
    answer: 'No, it is warm enough without one.',
  },
  { ...MARSBY, result: { celsius: 20 }, answer: 'It is 68 degrees Fahrenheit.' },
  { ...MARSBY, result: { temperature: 14 }, answer: 'Vierzehn Grad.' },
  { ...MARSBY, result: { conditions: 'overcast' }, answer: 'Der Himmel ist bedeckt.' },
  { ...ORDER, result: { status: 'shipped' }, answer: 'It is on its way to you.' },
  { ...ORDER, result: { paid: true }, answer: 'The bill is settled.' },
  { ...ORDER, result: { eta: '2031-06-06' }, answer: 'It arrives tomorrow.' },
  { ...ORDER, result: { created: '2031-06-01', delivered: '2031-06-04' }, answer: 'It took 72 hours.' },
  {
    query: 'What do both cost together?',
    arguments: { ids: [7, 9] },
    result: { prices: [19.5, 30.5] },
    answer: 'Together 50 euros.',
  },
  {
    query: 'Is the server healthy?',
    arguments: { host: 'db-1' },
    result: { cpu: 0.97, memory: 0.99 },
    answer: 'No, it is about to run out of memory.',
  },
  {
    query: 'Which of the two is cheaper?',
    arguments: { items: ['red', 'blue'] },
    result: { red: 19.5, blue: 30.5 },
    answer: 'The red one.',
  },
  {
    query: 'Open a ticket: the printer is broken.',
    arguments: { title: 'printer is broken' },
    result: { ticket_id: 88231 },
    answer: 'I have opened a ticket for you.',
  },
  {
    query: 'Sum up the report.',
    arguments: { path: 'report.md' },
    result:
      'The harvest was late this season because of the long rain, and the cooperative expects lower income than in the years before, though the reserves suffice.',
    answer: 'Rain delayed the crop, so earnings fall, but savings cover it.',
  },
];

/** The answer leaves the result unused: it declines, answers something else, or invents. */
export const NOT_USED: readonly WrittenExchange[] = [
  { ...MARSBY, result: { temperature: 14 }, answer: 'I cannot look up the weather.' },
  { ...MARSBY, result: { temperature: 14, conditions: 'cloudy' }, answer: 'Marsby is known for its mild climate.' },
  { ...MARSBY, result: { temperature: 14 }, answer: 'It is 25 degrees in Marsby.' },
  { ...MARSBY, result: { temperature: 12 }, answer: 'In 2012 it was 112.5 on average.' },
  { ...ORDER, result: { eta: '2031-06-05' }, answer: 'I do not know when order A-1042 arrives.' },
  { ...ORDER, result: { eta: '2031-06-05' }, answer: 'Order A-1042 arrives on 7 June 2031.' },
  { ...ORDER, result: { tracking: 'TRK-77-310' }, answer: 'Your tracking code is TRK-11-204.' },
  { ...ORDER, result: { order_id: 'A-1042', depot: 'Copper Bay' }, answer: 'Order A-1042? Please ask the shop.' },
  { ...ORDER, result: { items: 3 }, answer: 'Sorry, something went wrong.' },
  { ...ORDER, result: { refundable: false }, answer: 'Yes, it is refundable.' },
  {
    query: 'Find papers on soil erosion.',
    arguments: { q: 'soil erosion' },
    result: Array.from({ length: 40 }, (_, i) => ({ rank: i, year: 1990 + i, state: 'open' })),
    answer: 'Here are 3 things that I would open first in 2021, from memory.',
  },
  {
    query: 'Delete note 12.',
    arguments: { id: 12 },
    result: { id: 12, deleted: true },
    answer: 'Note 12 was not deleted.',
  },
];
