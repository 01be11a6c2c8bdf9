# Tracegrade as a process of its own: `docker build -t tracegrade .`, then `docker run tracegrade start --role worker`.
#
# Without the embedded ClickHouse, which is 545 of 815 MB of modules: a container has a server beside it. `store.url`
# must name that; with `embedded` the process ends and says what is missing.

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/
COPY src src
RUN npm run build

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Not --omit=optional: the prebuilt parts of lmdb, lz4 and snappy are optional as well, and are needed.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev && rm -rf node_modules/chdb node_modules/@chdb

FROM node:24-slim
ENV NODE_ENV=production TRACEGRADE_DATA_DIR=/var/lib/tracegrade
# The role `all` has its spool there; the other roles write nothing.
RUN mkdir /var/lib/tracegrade && chown node:node /var/lib/tracegrade
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY --from=build /app/dist dist
USER node
EXPOSE 4318
# Alive, not ready: a store that is away is no reason to be restarted.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TRACEGRADE_RECEIVE__HTTP__PORT ?? 4318}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["start"]
