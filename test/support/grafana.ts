import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

const root = new URL('../../grafana/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

export interface DataSourceRef {
  readonly type: string;
  readonly uid: string;
}

export interface Target {
  readonly refId: string;
  readonly datasource: DataSourceRef;
  readonly editorType: string;
  readonly queryType: string;
  readonly format: number;
  readonly pluginVersion: string;
  readonly rawSql: string;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: DataSourceRef;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly repeat?: string;
  readonly targets?: readonly Target[];
  readonly fieldConfig?: {
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: string };
      readonly properties: readonly { readonly id: string; readonly value: unknown }[];
    }[];
  };
}

export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly multi?: boolean;
  readonly query: string | Target;
  readonly current: { readonly value: string | readonly string[] };
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
}

/** Every board of the repository, by its file's name. */
export const dashboards = new Map(
  readdirSync(new URL('dashboards/', root)).map((file) => [file, JSON.parse(read(`dashboards/${file}`)) as Dashboard]),
);

export interface Rule {
  readonly uid: string;
  readonly title: string;
  readonly condition: string;
  readonly data: readonly {
    readonly refId: string;
    readonly datasourceUid: string;
    readonly relativeTimeRange?: { readonly from: number; readonly to: number };
    readonly model: Partial<Target> & {
      readonly type?: string;
      readonly expression?: string;
      readonly conditions?: readonly {
        readonly evaluator: { readonly type: string; readonly params: readonly number[] };
      }[];
    };
  }[];
  readonly noDataState: string;
  readonly execErrState: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const alerting = parse(read('provisioning/alerting/tracegrade.yaml')) as {
  readonly groups: readonly {
    readonly name: string;
    readonly folder: string;
    readonly interval: string;
    readonly rules: readonly Rule[];
  }[];
};
export const ruleGroups = alerting.groups;

export const dataSources = (
  parse(read('provisioning/datasources/clickhouse.yaml')) as {
    readonly datasources: readonly {
      readonly uid: string;
      readonly type: string;
      readonly jsonData: Readonly<Record<string, unknown>>;
      readonly secureJsonData: Readonly<Record<string, string>>;
    }[];
  }
).datasources;

export const dashboardProviders = (
  parse(read('provisioning/dashboards/tracegrade.yaml')) as {
    readonly providers: readonly { readonly options: { readonly path: string } }[];
  }
).providers;

interface Query {
  /** Says where it stands. */
  readonly name: string;
  readonly kind: 'panel' | 'variable' | 'rule';
  readonly target: Target;
  /** The variable for each of whose values Grafana draws it once more. */
  readonly repeat?: string;
}

function panelQueries({ panels }: Dashboard): readonly Query[] {
  let repeat: string | undefined;
  return panels.flatMap((panel): readonly Query[] => {
    if (panel.type === 'row') repeat = panel.repeat;
    const name = `panel ${panel.id}, ${panel.title}`;
    return (panel.targets ?? []).map((target) => ({ name, kind: 'panel', target, ...(repeat && { repeat }) }));
  });
}

function variableQueries({ templating }: Dashboard): readonly Query[] {
  return templating.list.flatMap(({ name, query }) =>
    typeof query === 'string' ? [] : [{ name: `variable ${name}`, kind: 'variable', target: query }],
  );
}

function ruleQueries({ uid, data }: Rule): readonly Query[] {
  return data.flatMap(({ model }) =>
    model.rawSql === undefined ? [] : [{ name: `rule ${uid}`, kind: 'rule', target: model as Target }],
  );
}

/** All SQL that Grafana is given. */
export const queries: readonly Query[] = [
  ...[...dashboards.values()].flatMap((board) => [...panelQueries(board), ...variableQueries(board)]),
  ...ruleGroups.flatMap(({ rules }) => rules).flatMap(ruleQueries),
];
