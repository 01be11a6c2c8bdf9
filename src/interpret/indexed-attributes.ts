import type { Json } from '../model/json.js';
import type { Attributes } from '../model/span.js';

/** More elements than this in one list are an attack or an accident; the rest is left out. */
const MAX_ELEMENTS = 10_000;

const INDEX = /^\d{1,15}$/;
/** Segments that could reach a prototype. */
const UNSAFE = /(?:^|\.)(?:__proto__|constructor|prototype)(?:\.|$)/;

/**
 * Where the members of one element stand: the attribute's key by what is behind `<prefix>.<index>.` in it. Found once
 * for all spans with the same keys, since parsing keys costs more than reading the values.
 */
class ElementLayout {
  readonly keys = new Map<string, string>();
  private readonly lists = new Map<string, ListLayout>();

  list(prefix: string): ListLayout {
    let layout = this.lists.get(prefix);
    if (layout === undefined) {
      layout = listLayout(this.keys, prefix);
      this.lists.set(prefix, layout);
    }
    return layout;
  }
}

interface ListLayout {
  readonly elements: readonly ElementLayout[];
  readonly capped: boolean;
}

/** The members of one element of a flattened list. */
export class Members {
  constructor(
    private readonly layout: ElementLayout,
    private readonly attributes: Attributes,
  ) {}

  get(name: string): Json | undefined {
    const key = this.layout.keys.get(name);
    return key === undefined ? undefined : (this.attributes.get(key) ?? null);
  }

  /** A list within the element: `<prefix>.<index>.<rest>`. */
  list(prefix: string): IndexedList {
    return readList(this.layout.list(prefix), this.attributes);
  }

  *[Symbol.iterator](): Generator<[string, Json]> {
    for (const [name, key] of this.layout.keys) yield [name, this.attributes.get(key) ?? null];
  }
}

/** Elements in order of their index, which may start anywhere and have gaps. */
export interface IndexedList {
  readonly elements: readonly Members[];
  /** Elements were left out because there were too many. */
  readonly capped: boolean;
}

/** By the list of keys, which spans of one instrumentation share. */
const LAYOUTS = new WeakMap<readonly string[], ElementLayout>();

/**
 * Collects a list that was flattened into attributes: `<prefix>.<index>.<rest>`. The index is only a sort key, so a
 * huge one costs nothing. Keys with a segment that could reach a prototype are dropped.
 */
export function indexedAttributes(attributes: Attributes, prefix: string): IndexedList {
  const keys = attributes.keys();
  let layout = LAYOUTS.get(keys);
  if (layout === undefined) {
    layout = new ElementLayout();
    for (const key of keys) layout.keys.set(key, key);
    LAYOUTS.set(keys, layout);
  }
  return readList(layout.list(prefix), attributes);
}

const NOTHING: IndexedList = { elements: [], capped: false };

function readList({ elements, capped }: ListLayout, attributes: Attributes): IndexedList {
  if (elements.length === 0) return NOTHING;
  return { elements: elements.map((layout) => new Members(layout, attributes)), capped };
}

function listLayout(keys: ReadonlyMap<string, string>, prefix: string): ListLayout {
  const start = `${prefix}.`;
  const byIndex = new Map<number, ElementLayout>();
  let capped = false;
  for (const [path, key] of keys) {
    if (!path.startsWith(start)) continue;
    const dot = path.indexOf('.', start.length);
    const digits = path.slice(start.length, dot);
    const rest = path.slice(dot + 1);
    if (dot < 0 || rest === '' || !INDEX.test(digits) || UNSAFE.test(rest)) continue;
    const index = Number(digits);
    let element = byIndex.get(index);
    if (element === undefined) {
      if (byIndex.size >= MAX_ELEMENTS) {
        capped = true;
        continue;
      }
      element = new ElementLayout();
      byIndex.set(index, element);
    }
    element.keys.set(rest, key);
  }
  const elements = [...byIndex].sort(([a], [b]) => a - b).map(([, element]) => element);
  return { elements, capped };
}
