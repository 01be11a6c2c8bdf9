/** Gaussia's scope check of one interaction. */
export interface ScopeCheck {
  /** 1: a tool outside the allowed ones was called; 0: none was; null: nobody said what is allowed. */
  readonly scope_violation: 0 | 1 | null;
  /** Sorted, each once. */
  readonly out_of_scope_tools: readonly string[];
}

/** Compares the names of made calls with the allowed ones, exactly. An empty list allows nothing. */
export function checkScope(names: readonly string[], allowed: readonly string[] | null | undefined): ScopeCheck {
  if (allowed === null || allowed === undefined) return { scope_violation: null, out_of_scope_tools: [] };
  const outside = [...new Set(names.filter((name) => !allowed.includes(name)))].sort();
  return { scope_violation: outside.length > 0 ? 1 : 0, out_of_scope_tools: outside };
}
