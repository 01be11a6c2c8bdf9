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
  const columnPotential = new Float64Array(size);
  // rowAt[column]: the row (1-based) that holds the column; column 0 holds the row that is being placed.
  const rowAt = new Int32Array(size);
  const cameFrom = new Int32Array(size);
  const slack = new Float64Array(size);
  const done = new Uint8Array(size);
  for (let row = 1; row <= rows; row += 1) {
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
  const columnOf = new Array<number>(rows).fill(-1);
  for (let column = 1; column < size; column += 1) {
    const row = rowAt[column] as number;
    if (row > 0) columnOf[row - 1] = column - 1;
  }
  return columnOf;
}
