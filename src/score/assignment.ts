/**
 * Optimal one-to-one assignment under `weights`, rows x columns of them, row by row: `columnOf[row]` is the column given to
 * the row, or -1 where there are more rows than columns. The total weight of the chosen pairs is the greatest possible, and
 * as many pairs are chosen as can be.
 *
 * The Hungarian method with potentials, O(rows^2 x columns) for rows <= columns (the smaller side is made the rows).
 * Source: H. W. Kuhn, "The Hungarian method for the assignment problem", 1955, in the shortest augmenting path form.
 */
export function assign(rows: number, columns: number, weights: Float64Array): number[] {
  if (rows > columns) {
    const turned = new Float64Array(weights.length);
    for (let i = 0; i < weights.length; i += 1) {
      turned[(i % columns) * rows + Math.floor(i / columns)] = weights[i] as number;
    }
    const rowOf = assign(columns, rows, turned);
    const columnOf = new Array<number>(rows).fill(-1);
    rowOf.forEach((row, column) => (columnOf[row] = column));
    return columnOf;
  }
  const size = columns + 1;
  const rowPotential = new Float64Array(rows + 1);
  // rowAt[column]: the row (1-based) that holds the column; column 0 holds the row that is being placed.
  const rowAt = new Int32Array(size);
  const left = placeEasyRows(rows, columns, weights, rowPotential, rowAt);
  if (left.length > 0) placeRows(left, columns, weights, rowPotential, rowAt);
  const columnOf = new Array<number>(rows).fill(-1);
  for (let column = 1; column < size; column += 1) {
    const row = rowAt[column] as number;
    if (row > 0) columnOf[row - 1] = column - 1;
  }
  return columnOf;
}

/** Places each row by the cheapest way to move others, from potentials under which the rows placed so far are right. */
function placeRows(
  left: readonly number[],
  columns: number,
  weights: Float64Array,
  rowPotential: Float64Array,
  rowAt: Int32Array,
): void {
  const size = columns + 1;
  const columnPotential = new Float64Array(size);
  const cameFrom = new Int32Array(size);
  const slack = new Float64Array(size);
  const done = new Uint8Array(size);
  for (const row of left) {
    rowAt[0] = row;
    let at = 0;
    slack.fill(Infinity);
    done.fill(0);
    do {
      done[at] = 1;
      const from = rowAt[at] as number;
      const line = (from - 1) * columns - 1;
      const potential = rowPotential[from] as number;
      let delta = Infinity;
      let next = 0;
      for (let column = 1; column < size; column += 1) {
        if (done[column] === 1) continue;
        const reduced = -(weights[line + column] as number) - potential - (columnPotential[column] as number);
        if (reduced < (slack[column] as number)) {
          slack[column] = reduced;
          cameFrom[column] = at;
        }
        if ((slack[column] as number) < delta) {
          delta = slack[column] as number;
          next = column;
        }
      }
      for (let column = 0; column < size; column += 1) {
        if (done[column] === 1) {
          const holder = rowAt[column] as number;
          rowPotential[holder] = (rowPotential[holder] as number) + delta;
          columnPotential[column] = (columnPotential[column] as number) - delta;
        } else {
          slack[column] = (slack[column] as number) - delta;
        }
      }
      at = next;
    } while (rowAt[at] !== 0);
    while (at !== 0) {
      const previous = cameFrom[at] as number;
      rowAt[at] = rowAt[previous] as number;
      at = previous;
    }
  }
}

/**
 * Gives each row its best column while that is free, with the potential that makes this right, and returns the other
 * rows: none in the usual case, and few in most others.
 */
function placeEasyRows(
  rows: number,
  columns: number,
  weights: Float64Array,
  rowPotential: Float64Array,
  rowAt: Int32Array,
): readonly number[] {
  const left: number[] = [];
  for (let row = 1; row <= rows; row += 1) {
    const line = (row - 1) * columns - 1;
    let best = -Infinity;
    let at = 0;
    for (let column = 1; column <= columns; column += 1) {
      const weight = weights[line + column] as number;
      if (weight > best || (weight === best && rowAt[at] !== 0 && rowAt[column] === 0)) {
        best = weight;
        at = column;
      }
    }
    rowPotential[row] = -best;
    if (rowAt[at] === 0) rowAt[at] = row;
    else left.push(row);
  }
  return left;
}
