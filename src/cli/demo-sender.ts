import { emitConversation, type DemoConversation } from './demo-agents.js';

/** Sends the demo's conversations as an agent's process would: through the OpenTelemetry SDK and its OTLP exporter. */
export interface DemoSender {
  send(conversation: DemoConversation, startMs: number): Promise<void>;
  /** Resolves when all that was sent has been answered. */
  flush(): Promise<void>;
  /** Sends what is left and ends. */
  stop(): Promise<void>;
}

/** `url`: where the traces go. One at a time in a process, since the SDK registers itself for all of it. */
export async function startDemoSender(url: string): Promise<DemoSender> {
  // Loaded here because they take longer than the rest of the program to start.
  const [{ NodeSDK, resources, tracing }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const { trace } = await import('@opentelemetry/api');
  const processor = new tracing.BatchSpanProcessor(new OTLPTraceExporter({ url }), {
    maxQueueSize: 100_000,
    maxExportBatchSize: 512,
    scheduledDelayMillis: 50,
  });
  const sdk = new NodeSDK({
    autoDetectResources: false,
    resource: resources.resourceFromAttributes({
      'service.name': 'tracegrade-demo',
      'deployment.environment.name': 'demo',
    }),
    spanProcessors: [processor],
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
  });
  sdk.start();
  const tracer = trace.getTracer('tracegrade-demo-agents');
  return {
    async send(conversation, startMs) {
      await emitConversation(conversation, startMs, tracer);
    },
    flush: () => processor.forceFlush(),
    stop: () => sdk.shutdown(),
  };
}
