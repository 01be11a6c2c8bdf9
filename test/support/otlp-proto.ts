import protobuf from 'protobufjs';

/** The part of OTLP that traces are made of: field numbers of opentelemetry-proto 1.x, in one file. */
const PROTO = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans {
  Resource resource = 1;
  repeated ScopeSpans scope_spans = 2;
  string schema_url = 3;
  repeated InstrumentationLibrarySpans instrumentation_library_spans = 1000;
}
message InstrumentationLibrarySpans { InstrumentationScope instrumentation_library = 1; repeated Span spans = 2; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message InstrumentationScope {
  string name = 1;
  string version = 2;
  repeated KeyValue attributes = 3;
  uint32 dropped_attributes_count = 4;
}
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  string trace_state = 3;
  bytes parent_span_id = 4;
  string name = 5;
  int32 kind = 6;
  fixed64 start_time_unix_nano = 7;
  fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9;
  uint32 dropped_attributes_count = 10;
  repeated Event events = 11;
  uint32 dropped_events_count = 12;
  repeated Link links = 13;
  uint32 dropped_links_count = 14;
  Status status = 15;
  fixed32 flags = 16;
}
message Event {
  fixed64 time_unix_nano = 1;
  string name = 2;
  repeated KeyValue attributes = 3;
  uint32 dropped_attributes_count = 4;
}
message Link {
  bytes trace_id = 1;
  bytes span_id = 2;
  string trace_state = 3;
  repeated KeyValue attributes = 4;
  uint32 dropped_attributes_count = 5;
  fixed32 flags = 6;
}
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1;
    bool bool_value = 2;
    int64 int_value = 3;
    double double_value = 4;
    ArrayValue array_value = 5;
    KeyValueList kvlist_value = 6;
    bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
`;

/** Encodes and decodes requests by reflection; names are camelCase as in OTLP/JSON. */
export const TraceRequestType = protobuf.parse(PROTO).root.lookupType('ExportTraceServiceRequest');

/** Any OTLP/JSON object, loosely typed: tests and benches take fixtures apart. */
export type OtlpJson = any; // eslint-disable-line @typescript-eslint/no-explicit-any

/** The protobuf encoding of an OTLP/JSON request: hex ids become bytes, all else has the same names. */
export function encodeOtlpJson(request: OtlpJson): Buffer {
  return encodeRequest(withByteIds(request) as object);
}

/** The protobuf encoding of a request whose ids are bytes already. */
export function encodeRequest(request: object): Buffer {
  return Buffer.from(TraceRequestType.encode(TraceRequestType.fromObject(request)).finish());
}

function withByteIds(value: OtlpJson): OtlpJson {
  if (Array.isArray(value)) return value.map(withByteIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Record<string, OtlpJson>).map(([key, member]) => [
      key,
      /^(traceId|spanId|parentSpanId)$/.test(key) ? Buffer.from(member as string, 'hex') : withByteIds(member),
    ]),
  );
}
