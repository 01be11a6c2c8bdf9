import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface TcpProxy {
  readonly url: string;
  /** Connections that were cut as they were used again. */
  readonly cuts: number;
}

/**
 * Stands before a server and closes connections that it takes for idle just as the client uses them again: the bytes of
 * the new request are thrown away and the connection is reset, as by a server whose keep-alive is over in that moment.
 *
 * `cutsReuse(n)`: is a connection cut at its n-th use after the first?
 */
export async function startTcpProxy(target: string, cutsReuse: (reuse: number) => boolean): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    let answered = false;
    let reuses = 0;
    client.on('data', (bytes) => {
      if (answered) {
        answered = false;
        reuses += 1;
        if (cutsReuse(reuses)) {
          cuts += 1;
          client.resetAndDestroy();
          upstream.destroy();
          return;
        }
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      answered = true;
      client.write(bytes);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
  };
}
