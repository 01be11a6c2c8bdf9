/**
 * Field names of OTLP/JSON by message, with their numbers in the proto. Senders that marshal the proto by its own
 * names write snake_case, which the specification does not allow and every ProtoJSON reader takes: those are found
 * under the negative number.
 */
export type FieldTable = ReadonlyMap<string, number>;

function fields(names: Readonly<Record<string, number>>): FieldTable {
  const table = new Map<string, number>();
  for (const [name, number] of Object.entries(names)) {
    table.set(name, number);
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (snake !== name) table.set(snake, -number);
  }
  return table;
}

export const REQUEST_FIELDS = fields({ resourceSpans: 1, resourceLogs: 2, resourceMetrics: 3, resourceProfiles: 4 });
export const RESOURCE_SPANS_FIELDS = fields({ resource: 1, scopeSpans: 2, instrumentationLibrarySpans: 1000 });
export const RESOURCE_FIELDS = fields({ attributes: 1 });
export const SCOPE_SPANS_FIELDS = fields({ scope: 1, spans: 2, instrumentationLibrary: 1000 });
export const SCOPE_FIELDS = fields({ name: 1, version: 2 });
export const SPAN_FIELDS = fields({
  traceId: 1,
  spanId: 2,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  startTimeUnixNano: 7,
  endTimeUnixNano: 8,
  attributes: 9,
  droppedAttributesCount: 10,
  events: 11,
  links: 13,
  status: 15,
  flags: 16,
});
export const EVENT_FIELDS = fields({ timeUnixNano: 1, name: 2, attributes: 3 });
export const LINK_FIELDS = fields({ traceId: 1, spanId: 2 });
export const STATUS_FIELDS = fields({ message: 2, code: 3 });
export const KEY_VALUE_FIELDS = fields({ key: 1, value: 2 });
export const ANY_VALUE_FIELDS = fields({
  stringValue: 1,
  boolValue: 2,
  intValue: 3,
  doubleValue: 4,
  arrayValue: 5,
  kvlistValue: 6,
  bytesValue: 7,
});
export const LIST_FIELDS = fields({ values: 1 });
export const LONG_FIELDS = fields({ low: 1, high: 2 });
