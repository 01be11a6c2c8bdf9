/** Resource attribute of our own spans; a worker that receives them must not grade them. */
export const SELF_ATTRIBUTE = 'tracegrade.self';
/** Name of the tracer that our own spans are made with. */
export const SELF_SCOPE = 'tracegrade';

const EXPORT_TIMEOUT_MS = 3_000;

export interface SelfTracingConfig {
  /** OTLP/HTTP endpoint of the traces, `http://host:4318/v1/traces`. */
  readonly endpoint: string;
  readonly version: string;
}

export interface SelfTracing {
  /** Sends what is left and stops. Never rejects, and gives up after a few seconds: our own traces hold up no shutdown. */
  stop(): Promise<void>;
}

/**
 * Sends our own spans to an endpoint, through the OpenTelemetry SDK and its global tracer. Off unless called. The SDK is
 * imported only here, because loading it takes longer than the rest of the start.
 */
export async function startSelfTracing({ endpoint, version }: SelfTracingConfig): Promise<SelfTracing> {
  const [{ NodeSDK, resources }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const sdk = new NodeSDK({
    autoDetectResources: false,
    resource: resources.resourceFromAttributes({
      'service.name': 'tracegrade',
      'service.version': version,
      [SELF_ATTRIBUTE]: true,
    }),
    traceExporter: new OTLPTraceExporter({ url: endpoint, timeoutMillis: EXPORT_TIMEOUT_MS }),
    // Without these two the SDK sends metrics and logs as well, by default to localhost:4318, which may be ourselves.
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
  });
  sdk.start();
  return { stop: () => sdk.shutdown().catch(() => undefined) };
}
