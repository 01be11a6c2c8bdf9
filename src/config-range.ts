/** What of JSON Schema the configuration's schema comes to. */
export interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly not?: { readonly const: unknown };
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly default?: unknown;
  readonly description?: string;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** What values a key takes beyond their type, as Markdown; empty: any. */
export function rangeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(rangeOf).filter(isSaid).join('; or ');
  if (schema.type === 'array') {
    const many = (schema.minItems ?? 0) > 0 ? `${schema.minItems} or more` : '';
    const each = schema.items === undefined ? '' : rangeOf(schema.items);
    return [many, each === '' ? '' : `each ${each}`].filter(isSaid).join('; ');
  }
  if (schema.properties) {
    const members = Object.entries(schema.properties).map(([name, member]) => [name, rangeOf(member)] as const);
    return members.flatMap(([name, range]) => (range === '' ? [] : [`\`${name}\` ${range}`])).join('; ');
  }
  const range = schema.type === 'string' ? rangeOfText(schema) : rangeOfNumber(schema);
  return schema.not === undefined ? range : `${range}, not ${String(schema.not.const)}`;
}

const FORMATS: Readonly<Record<string, string>> = { uri: 'a URL', 'date-time': 'a time with its offset' };

function rangeOfText({ format, pattern, minLength = 0 }: JsonSchema): string {
  const named = FORMATS[format ?? ''];
  if (named !== undefined) return named;
  if (pattern !== undefined) return `\`${pattern}\``;
  return minLength > 0 ? 'not empty' : '';
}

function rangeOfNumber({ type, exclusiveMinimum, exclusiveMaximum, ...schema }: JsonSchema): string {
  const isWhole = type === 'integer';
  const least = schema.minimum ?? (isWhole && exclusiveMinimum !== undefined ? exclusiveMinimum + 1 : undefined);
  const most = schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum;
  if (least !== undefined && most !== undefined) return `${least} .. ${most}`;
  const ends = [
    least !== undefined ? `>= ${least}` : exclusiveMinimum !== undefined ? `> ${exclusiveMinimum}` : '',
    most !== undefined ? `<= ${most}` : exclusiveMaximum !== undefined ? `< ${exclusiveMaximum}` : '',
  ];
  return ends.filter(isSaid).join(' and ');
}

function isSaid(text: string): boolean {
  return text !== '';
}
