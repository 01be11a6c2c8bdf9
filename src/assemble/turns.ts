/**
 * Groups the spans that are held of one trace into turns. A pure function of the set of spans and of what is
 * remembered of the trace; neither the order of arrival nor the clock enters.
 *
 * Top down, a span belongs to the turn of its parent, but an agent or workflow opens a turn when there is none above
 * it, or a border in between: a parent in another process. What stays without an agent above is a *loose tree*, and if
 * it holds a model or tool call it becomes a turn as follows. Without a parent: under its topmost span. With a parent
 * that was never seen: in the turn of the agent whose time holds it, else under a phantom with that parent's id. Below
 * a border: under its topmost span when it holds a model call, whether the other side was seen or not, because that
 * must not decide what is a turn; other steps alone belong to the other side, and spans that are none (all that a
 * called service does) to nobody. Transparent spans join what is above and below.
 */
import type { AgentSpan } from '../model/agent-span.js';
import type { SpanId } from '../model/span.js';
import type { Holder, PastAncestor, PastInteraction, PastTrace } from './decided-memory.js';
import type { HeldSpan } from './held-span.js';
import { byStart, hasEnded, isAgent, isCall, isStep } from './held-span.js';
import type { TurnInput } from './new-user-text.js';
import { inOrder } from './in-order.js';
import { startsTurn, turnInput } from './new-user-text.js';

/**
 * - `turn`: an interaction, or what there is of it yet.
 * - `ownJudge`: the work of our own judge; never graded.
 * - `late`, `cut`: belongs to an interaction that is decided for good, or was cut at a bound.
 * - `idle`: belongs to no turn: set-up, retrievals by themselves, spans that no dialect claims.
 */
export type GroupKind = 'turn' | 'ownJudge' | 'late' | 'cut' | 'idle';

export interface Group {
  readonly kind: GroupKind;
  /** The id of the turn root, which may be a phantom; of the topmost span for groups that are no turn. */
  readonly rootSpanId: SpanId;
  readonly root: HeldSpan | null;
  /** Root first, then in order of start. */
  readonly members: readonly HeldSpan[];
  /** Spans of our own judge inside a turn of something else; they are no members. */
  readonly judged: readonly HeldSpan[];
  /** Spans above the root, topmost first. */
  readonly ancestors: readonly AgentSpan[];
  /** Of the ancestors, those that are held and belong to no turn. */
  readonly heldAncestors: readonly Ancestor[];
  /** Of the members, those that are ancestors of other turns. */
  readonly aboveOthers: readonly Ancestor[];
  /** The parent that the topmost span names and that was never seen; null when nothing is missing above. */
  readonly missingParentId: SpanId | null;
  /** The root was seen and has ended, and nothing is missing above it. */
  readonly complete: boolean;
  /** Another part of it is decided already. */
  readonly split: boolean;
  /** A dialect claims at least one of the members. */
  readonly claimed: boolean;
  /** Members below a border inside the turn: an agent below them is a turn of its own. */
  readonly crossed: readonly SpanId[];
  /** Its root can hold spans that have lost their parent. */
  readonly holder: Holder | null;
  /** Stream time of the first and of the latest arrival, the held ancestors' included in the latest. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** The greatest `seq` of all that an interaction would be built from. */
  readonly seq: number;
}

export interface Ancestor {
  readonly held: HeldSpan;
  /** A chain of ancestors, topmost first, in which it stands at `at`. */
  readonly chain: readonly AgentSpan[];
  readonly at: number;
  readonly missingParentId: SpanId | null;
  /** It stands on the other side of a border: it waits for the turns below, but does not leave with them. */
  readonly beyond: boolean;
  /** Turns that stand below it. */
  turns: number;
}

type Top =
  | { readonly kind: 'none' }
  | { readonly kind: 'missing'; readonly parentId: SpanId }
  /** Like `missing`, in another process. */
  | { readonly kind: 'outside'; readonly parentId: SpanId }
  | { readonly kind: 'past'; readonly interaction: PastInteraction }
  | { readonly kind: 'pastAncestor'; readonly ancestor: PastAncestor };

/** The spans above a turn root, topmost first; those of them that belong to no turn; the greatest `seq` of all. */
interface Above {
  readonly all: readonly AgentSpan[];
  readonly held: readonly Ancestor[];
  readonly seq: number;
}

/** The parent at the very top that was never seen; null when there is none. */
interface Beyond {
  readonly parentId: SpanId | null;
  /** That parent lives in another process than its child. */
  readonly outside: boolean;
}

interface Node {
  readonly held: HeldSpan;
  readonly span: AgentSpan;
  parent: Node | null;
  /** What stands above when `parent` is null. */
  top: Top;
  labelled: boolean;
  onPath: boolean;
  turn: TurnNode | null;
  tree: LooseTree | null;
  /** A remote parent lies between this span and the root of the turn that it would join. */
  crossed: boolean;
  judge: boolean;
  /** The parent that was never seen, at the top of what is above it in its own process. */
  missingParentId: SpanId | null;
  /** What is above it across all borders. */
  beyond: Beyond;
  /** The part of the turn that it, or a model call above it, was put into; see `segments`. */
  segment: number | null;
  startsPart: boolean;
  ancestor: Ancestor | null;
}

interface TurnNode {
  readonly kind: 'turn' | 'late' | 'cut' | 'ownJudge';
  readonly id: SpanId;
  root: Node | null;
  readonly nodes: Node[];
  readonly missingParentId: SpanId | null;
  /** Its nodes that stand above other turns. */
  readonly aboveOthers: Ancestor[];
}

interface LooseTree {
  readonly top: Node;
  readonly nodes: Node[];
  /** It begins below a border, with a span that is no step of an agent. */
  readonly bordered: boolean;
  hasModelCall: boolean;
  hasCall: boolean;
  hasStep: boolean;
}

// What names a conversation stands at the top, ground truth stands close; a hostile chain of thousands must not cost
// its length for each turn below it.
const ANCESTORS_EACH_END = 32;
const NO_INPUT: TurnInput = { userText: null, userTexts: 0, afterAnswer: false };
const NOTHING_OVER: Above = { all: [], held: [], seq: 0 };
const NOTHING_BEYOND: Beyond = { parentId: null, outside: false };
const NOTHING_ABOVE: Top = { kind: 'none' };

export function groupTurns(spans: ReadonlyMap<SpanId, HeldSpan>, past: PastTrace | undefined): Group[] {
  return new Grouping(spans, past).run();
}

class Grouping {
  private readonly nodes = new Map<SpanId, Node>();
  private readonly turns: TurnNode[] = [];
  private readonly phantoms = new Map<SpanId, TurnNode>();
  private readonly ended = new Map<PastInteraction, TurnNode>();
  private readonly trees: LooseTree[] = [];

  constructor(
    spans: ReadonlyMap<SpanId, HeldSpan>,
    private readonly past: PastTrace | undefined,
  ) {
    for (const [spanId, held] of spans) this.nodes.set(spanId, newNode(held));
  }

  run(): Group[] {
    for (const node of this.nodes.values()) this.findParent(node);
    for (const node of this.nodes.values()) this.labelPath(node);
    this.placeLooseTrees();

    const groups: Group[] = [];
    for (const turn of this.turns) this.addGroups(turn, groups);
    for (const tree of this.trees) {
      if (tree.top.turn === null) groups.push(this.idleGroup(tree));
    }
    return groups;
  }

  private findParent(node: Node): void {
    const { span } = node.span;
    const parentId = span.parentSpanId;
    if (parentId === undefined || parentId === span.spanId) return;
    const parent = this.nodes.get(parentId);
    if (parent !== undefined) {
      node.parent = parent;
      return;
    }
    const interaction = this.past?.interactionOf(parentId);
    if (interaction !== undefined && !(interaction.root === 'phantom' && interaction.rootSpanId === parentId)) {
      const root = interaction.ending === 'partial' ? this.nodes.get(interaction.rootSpanId) : undefined;
      if (root === undefined) node.top = { kind: 'past', interaction };
      else if (root !== node) node.parent = root;
      return;
    }
    const ancestor = this.past?.ancestors.get(parentId);
    if (ancestor !== undefined) node.top = { kind: 'pastAncestor', ancestor };
    else node.top = { kind: isBorder(node.span) && !isStep(node.span) ? 'outside' : 'missing', parentId };
  }

  /** Labels the node and all above it, topmost first, without recursion: a trace may be one long chain. */
  private labelPath(start: Node): void {
    const path: Node[] = [];
    for (let node: Node | null = start; node !== null && !node.labelled; node = node.parent) {
      if (node.onPath) {
        breakCycle(path.slice(path.indexOf(node)));
        for (const walked of path) walked.onPath = false;
        this.labelPath(start);
        return;
      }
      node.onPath = true;
      path.push(node);
    }
    for (let at = path.length - 1; at >= 0; at -= 1) this.label(path[at] as Node);
  }

  private label(node: Node): void {
    const { parent, span } = node;
    const border = isBorder(span);
    node.labelled = true;
    node.judge = span.ownJudge || parent?.judge === true;
    node.missingParentId = parent === null ? missingParentOf(node.top) : border ? null : parent.missingParentId;
    node.beyond = parent === null ? beyondOf(node.top) : parent.beyond;
    const above = parent === null ? this.agentOfPast(node.top) : parent.turn;
    node.crossed = border || (parent === null ? crossedInPast(node) : parent.crossed);

    if (isAgent(span) && (above === null || node.crossed)) {
      node.crossed = false;
      this.join(node, this.open('turn', span.span.spanId, node, node.missingParentId));
    } else if (border && !isStep(span) && !isAgent(span)) {
      this.joinTree(node, this.newTree(node, true));
    } else if (above !== null) {
      this.join(node, above);
    } else {
      this.joinTree(node, parent?.tree ?? this.newTree(node, false));
    }
  }

  /** The turn of a parent that is gone, if an agent stood above it; else its children are a loose tree as it was. */
  private agentOfPast(top: Top): TurnNode | null {
    if (top.kind !== 'past') return null;
    const { interaction } = top;
    return interaction.root === 'agent' || interaction.ending === 'ownJudge' ? this.turnOfPast(interaction) : null;
  }

  /** The turn that a span joins which belongs to an interaction that is decided and gone. */
  private turnOfPast(interaction: PastInteraction): TurnNode {
    if (interaction.ending === 'partial') return this.phantom(interaction.rootSpanId);
    let turn = this.ended.get(interaction);
    if (turn === undefined) {
      const kind = interaction.ending === 'whole' ? 'late' : interaction.ending;
      turn = this.open(kind, interaction.rootSpanId, null, null);
      this.ended.set(interaction, turn);
    }
    return turn;
  }

  private phantom(id: SpanId): TurnNode {
    let turn = this.phantoms.get(id);
    if (turn === undefined) {
      turn = this.open('turn', id, null, id);
      this.phantoms.set(id, turn);
    }
    return turn;
  }

  private open(kind: TurnNode['kind'], id: SpanId, root: Node | null, missingParentId: SpanId | null): TurnNode {
    const turn: TurnNode = { kind, id, root, nodes: [], missingParentId, aboveOthers: [] };
    this.turns.push(turn);
    return turn;
  }

  private join(node: Node, turn: TurnNode): void {
    node.turn = turn;
    turn.nodes.push(node);
  }

  private newTree(top: Node, bordered: boolean): LooseTree {
    const tree: LooseTree = { top, nodes: [], bordered, hasModelCall: false, hasCall: false, hasStep: false };
    this.trees.push(tree);
    return tree;
  }

  private joinTree(node: Node, tree: LooseTree): void {
    node.tree = tree;
    tree.nodes.push(node);
    tree.hasModelCall ||= isCall(node.span) && node.span.kind === 'llm';
    tree.hasCall ||= isCall(node.span);
    tree.hasStep ||= isStep(node.span);
  }

  private placeLooseTrees(): void {
    if (this.trees.length === 0) return;
    // A tree stands in the list behind the one above it: what has no turn of its own goes up first.
    for (const tree of [...this.trees].reverse()) {
      const above = tree.top.parent;
      if (!tree.bordered || tree.hasModelCall || !tree.hasStep || above === null) continue;
      this.trees.splice(this.trees.indexOf(tree), 1);
      if (above.turn !== null) this.joinAll(tree, above.turn);
      else for (const node of tree.nodes) this.joinTree(node, above.tree as LooseTree);
    }
    const holders = this.holdersByStart();
    for (const tree of this.trees) {
      const turn = this.turnOfTree(tree, holders);
      if (turn !== null) this.joinAll(tree, turn);
    }
    for (const tree of this.trees) {
      const { top } = tree.top;
      if (tree.top.turn !== null || (top.kind !== 'missing' && top.kind !== 'outside')) continue;
      const turn = tree.hasStep ? this.holderOf(tree.top, holders) : null;
      const phantom = turn ?? this.phantoms.get(top.parentId) ?? this.pastPhantom(top.parentId);
      if (phantom !== undefined) this.joinAll(tree, phantom);
    }
  }

  /** The turn of a tree that holds a call, or whose parent's turn is known. */
  private turnOfTree(tree: LooseTree, holders: readonly Node[]): TurnNode | null {
    const { top, missingParentId, span } = tree.top;
    const opensTurn = tree.bordered ? tree.hasModelCall : top.kind === 'none' || top.kind === 'pastAncestor';
    if (opensTurn) return tree.hasCall ? this.open('turn', span.span.spanId, tree.top, missingParentId) : null;
    if (top.kind === 'past') return tree.bordered && !tree.hasStep ? null : this.turnOfPast(top.interaction);
    if (!tree.hasCall) return null;
    if (top.kind === 'missing' || top.kind === 'outside') {
      return this.holderOf(tree.top, holders) ?? this.pastPhantom(top.parentId) ?? this.phantom(top.parentId);
    }
    return this.open('turn', span.span.spanId, tree.top, missingParentId);
  }

  /** The interaction that stood under a phantom with this id and is decided. */
  private pastPhantom(id: SpanId): TurnNode | undefined {
    const interaction = this.past?.interactionOf(id);
    return interaction === undefined ? undefined : this.turnOfPast(interaction);
  }

  private joinAll(tree: LooseTree, turn: TurnNode): void {
    for (const node of tree.nodes) this.join(node, turn);
  }

  /**
   * Roots that can hold spans by time: agents and workflows with no missing parent above, in order of start. One below
   * a border may: most callers are traced elsewhere. But see `holderOf`.
   */
  private holdersByStart(): Node[] {
    return this.turns
      .flatMap(({ root }) => (root !== null && !root.judge && mayHold(root.beyond) ? [root] : []))
      .sort((a, b) => byStart(a.span, b.span));
  }

  /**
   * The turn of the latest root whose time holds the start of a span that has lost its parent. A root that has not
   * ended has no time yet: it would hold all that comes after it. Never a root that was
   * called, from another process, by the very parent that is missing: the span belongs to the caller then.
   */
  private holderOf(node: Node, holders: readonly Node[]): TurnNode | null {
    const start = node.span.span.startUnixNano;
    const missing = node.beyond.parentId;
    // What is reported does not move to a later root.
    const before = node.held.decidedIn === null ? undefined : this.nodes.get(node.held.decidedIn);
    if (before !== undefined && before !== node && holders.includes(before)) return before.turn;
    let held: Node | null = null;
    for (let at = holders.length - 1; at >= 0 && held === null; at -= 1) {
      const root = holders[at] as Node;
      if (root.beyond.parentId !== missing && holds(root.span.span, start)) held = root;
    }
    let gone: PastInteraction | null = null;
    for (const past of this.past?.roots ?? []) {
      const { holder } = past;
      if (holder === null || !holds(holder, start)) continue;
      const { callerId } = holder;
      if (callerId !== null && (callerId === missing || this.nodes.has(callerId))) continue;
      if (holder.startUnixNano >= (gone?.holder?.startUnixNano ?? 0n)) gone = past;
    }
    if (gone === null || (held !== null && held.span.span.startUnixNano >= (gone.holder?.startUnixNano ?? 0n))) {
      return held?.turn ?? null;
    }
    const again = gone.ending === 'partial' ? this.nodes.get(gone.rootSpanId)?.turn : undefined;
    return again ?? this.turnOfPast(gone);
  }

  private addGroups(turn: TurnNode, groups: Group[]): void {
    if (turn.nodes.length === 0) return;
    if (turn.kind !== 'turn') {
      groups.push(this.group(turn.kind, turn, turn.root, turn.nodes));
      return;
    }
    const judge = turn.nodes.some((node) => node.judge);
    if (judge && !turn.nodes.some((node) => !node.judge && isCall(node.span))) {
      groups.push(this.group('ownJudge', turn, turn.root, turn.nodes));
      return;
    }
    if (!turn.nodes.some((node) => node.span.dialect !== null)) {
      // Only a second part can be without any: it says nothing, and must not compete with the first.
      groups.push(this.group('late', turn, turn.root, turn.nodes));
      return;
    }
    const again = this.isSecondPart(turn.id, []);
    const parts = segments(turn, again).filter((part) => part.length > 0);
    parts.forEach((part, at) => {
      const root = part[0]?.startsPart === true ? part[0] : turn.root;
      const kind = part.every((node) => node.judge) ? 'ownJudge' : 'turn';
      groups.push(this.group(kind, turn, root, part, at < parts.length - 1));
    });
  }

  private group(kind: GroupKind, turn: TurnNode, root: Node | null, nodes: readonly Node[], followed = false): Group {
    const members: HeldSpan[] = root === null ? [] : [root.held];
    const judged: HeldSpan[] = [];
    const crossed: SpanId[] = [];
    for (const node of inOrder(nodes, (a, b) => byStart(a.span, b.span))) {
      if (kind === 'turn' && node.judge) judged.push(node.held);
      else if (node !== root) members.push(node.held);
      if (node.crossed) crossed.push(node.span.span.spanId);
    }
    const above = kind === 'turn' && root !== null ? this.ancestorsOf(root) : NOTHING_OVER;
    const closed = followed || (turn.root !== null && hasEnded(turn.root.span));
    const { firstMs, lastMs, seq } = times(members, above);
    return {
      kind,
      rootSpanId: root?.span.span.spanId ?? turn.id,
      root: root?.held ?? null,
      members,
      judged,
      ancestors: above.all,
      heldAncestors: above.held,
      missingParentId: turn.missingParentId,
      complete: turn.missingParentId === null && closed && root !== null && (root === turn.root || hasEnded(root.span)),
      split: kind === 'turn' && this.isSecondPart(root?.span.span.spanId ?? turn.id, nodes),
      claimed: nodes.some((node) => node.span.dialect !== null),
      holder: root !== null && isAgent(root.span) && mayHold(root.beyond) ? holderOf(root) : null,
      aboveOthers: turn.aboveOthers,
      crossed,
      firstMs,
      lastMs,
      seq,
    };
  }

  private idleGroup(tree: LooseTree): Group {
    const members = tree.nodes.map((node) => node.held);
    const { top } = tree.top;
    return {
      kind: 'idle',
      rootSpanId: tree.top.span.span.spanId,
      root: null,
      members,
      judged: [],
      ancestors: [],
      heldAncestors: tree.nodes.flatMap((node) => node.ancestor ?? []),
      missingParentId: top.kind === 'missing' || (top.kind === 'outside' && tree.hasStep) ? top.parentId : null,
      complete: false,
      split: false,
      claimed: tree.nodes.some((node) => node.span.dialect !== null),
      holder: null,
      aboveOthers: [],
      crossed: [],
      ...times(members, NOTHING_OVER),
    };
  }

  private ancestorsOf(root: Node): Above {
    const chain: Node[] = [];
    let ownSide = 0;
    let crossed = isBorder(root.span);
    for (let node = root.parent; node !== null; node = node.parent) {
      chain.push(node);
      if (!crossed) ownSide += 1;
      crossed ||= isBorder(node.span);
    }
    chain.reverse();
    if (chain.length > 2 * ANCESTORS_EACH_END) chain.splice(ANCESTORS_EACH_END, chain.length - 2 * ANCESTORS_EACH_END);
    const { top } = chain[0] ?? root;
    const gone = top.kind === 'pastAncestor' ? top.ancestor : this.pastParent(chain[0] ?? root);
    const all = gone === undefined ? [] : [...gone.above, gone.span];
    const held: Ancestor[] = [];
    let seq = 0;
    chain.forEach((node, at) => {
      if (node.ancestor === null) {
        const { missingParentId } = node;
        const beyond = at < chain.length - ownSide;
        node.ancestor = { held: node.held, chain: all, at: all.length, missingParentId, beyond, turns: 0 };
        node.turn?.aboveOthers.push(node.ancestor);
      }
      node.ancestor.turns += 1;
      if (node.turn === null) held.push(node.ancestor);
      seq = Math.max(seq, node.held.seq);
      all.push(node.span);
    });
    return { all, held, seq };
  }

  /** A parent that was a member of another turn, which is decided, and stood above this one. */
  private pastParent({ top, span }: Node): PastAncestor | undefined {
    return top.kind === 'past' ? this.past?.ancestors.get(span.span.parentSpanId ?? '') : undefined;
  }

  /** Is another part of this turn decided already: under the same root, or as what stood below one of its spans? */
  private isSecondPart(rootId: SpanId, nodes: readonly Node[]): boolean {
    const past = this.past;
    if (past === undefined) return false;
    if (past.interactionOf(rootId)?.rootSpanId === rootId || past.missingParents.has(rootId)) return true;
    return past.missingParents.size > 0 && nodes.some((node) => past.missingParents.has(node.span.span.spanId));
  }
}

function newNode(held: HeldSpan): Node {
  return {
    held,
    span: held.span,
    parent: null,
    top: NOTHING_ABOVE,
    labelled: false,
    onPath: false,
    turn: null,
    tree: null,
    crossed: false,
    judge: false,
    missingParentId: null,
    beyond: NOTHING_BEYOND,
    segment: null,
    startsPart: false,
    ancestor: null,
  };
}

/**
 * Its parent lives in another process. A server span says so by its kind, where the SDK sends no flags. A step of an
 * agent is no border for itself: whoever called it, also from afar, is the agent that it belongs to.
 */
function isBorder({ span }: AgentSpan): boolean {
  return span.parentIsRemote ?? span.kind === 2;
}

function holderOf(root: Node): Holder {
  const { startUnixNano, endUnixNano } = root.span.span;
  return { startUnixNano, endUnixNano, callerId: root.beyond.parentId };
}

function mayHold(beyond: Beyond): boolean {
  return beyond.parentId === null || beyond.outside;
}

function holds(root: { readonly startUnixNano: bigint; readonly endUnixNano: bigint }, start: bigint): boolean {
  return root.startUnixNano <= start && start <= root.endUnixNano;
}

function missingParentOf(top: Top): SpanId | null {
  if (top.kind === 'missing') return top.parentId;
  if (top.kind === 'pastAncestor') return top.ancestor.missingParentId;
  return top.kind === 'past' ? top.interaction.missingParentId : null;
}

function crossedInPast({ top, span }: Node): boolean {
  return top.kind === 'past' && top.interaction.crossed.includes(span.span.parentSpanId ?? '');
}

function beyondOf(top: Top): Beyond {
  if (top.kind === 'outside') return { parentId: top.parentId, outside: true };
  const parentId = missingParentOf(top);
  return parentId === null ? NOTHING_BEYOND : { parentId, outside: false };
}

/** Spans that name each other as parents: the one with the least id counts as the topmost. */
function breakCycle(cycle: readonly Node[]): void {
  const first = cycle.reduce((a, b) => (a.span.span.spanId < b.span.span.spanId ? a : b));
  first.parent = null;
  first.top = NOTHING_ABOVE;
}

/**
 * Under a phantom or a server span several turns may stand side by side: a connection that lives on. Each model call
 * that begins a turn (see `startsTurn`) is the root of its own part; what is not below a model call goes by its start.
 * The first part keeps the phantom or the server span as its root. When an earlier part is decided already
 * (`again`), the first call that is held may begin a turn, too.
 */
function segments(turn: TurnNode, again: boolean): readonly (readonly Node[])[] {
  const { root } = turn;
  if (root !== null && (isAgent(root.span) || root.span.span.kind !== 2)) return [turn.nodes];
  const calls = turn.nodes.filter((node) => node.span.kind === 'llm' && !node.judge);
  if (calls.length < (again ? 1 : 2)) return [turn.nodes];

  calls.sort((a, b) => byStart(a.span, b.span));
  let first: TurnInput = again ? NO_INPUT : turnInput((calls[0] as Node).span);
  const starts: Node[] = [];
  for (const call of again ? calls : calls.slice(1)) {
    const input = turnInput(call.span);
    if (call === root || !startsTurn(input, first)) continue;
    first = input;
    call.startsPart = true;
    starts.push(call);
    call.segment = starts.length;
  }
  if (starts.length === 0) return [turn.nodes];

  const parts: Node[][] = [[], ...starts.map((start) => [start])];
  for (const node of turn.nodes) {
    if (node.startsPart) continue;
    const inherited = node.parent?.turn === turn ? node.parent.segment : null;
    if (node !== root) node.segment = node.span.kind === 'llm' ? segmentAt(node, starts) : inherited;
    const part = node === root ? 0 : (node.segment ?? segmentAt(node, starts));
    (parts[part] as Node[]).push(node);
  }
  return parts;
}

/** How many of `starts`, in order of start, began no later than the span: a binary search. */
function segmentAt(node: Node, starts: readonly Node[]): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byStart((starts[middle] as Node).span, node.span) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function times(
  members: readonly HeldSpan[],
  above: Above,
): { readonly firstMs: number; readonly lastMs: number; readonly seq: number } {
  let firstMs = Infinity;
  let lastMs = -Infinity;
  let { seq } = above;
  for (const held of members) {
    firstMs = Math.min(firstMs, held.firstMs);
    lastMs = Math.max(lastMs, held.lastMs);
    seq = Math.max(seq, held.seq);
  }
  for (const { held } of above.held) lastMs = Math.max(lastMs, held.lastMs);
  return { firstMs, lastMs, seq };
}
