// The queries of a dashboard.

// Of panels, variables and annotations, and where each is.
export function queriesOf(board) {
  const queries = [];
  for (const panel of board.panels) {
    for (const target of panel.targets ?? []) queries.push({ where: `${board.title}: ${panel.title}`, expr: target.expr });
  }
  for (const variable of board.templating.list) {
    const selector = /^label_values\((.+), \w+\)$/.exec(variable.query);
    if (selector) queries.push({ where: `${board.title}: variable ${variable.name}`, expr: selector[1] });
  }
  for (const annotation of board.annotations.list) {
    queries.push({ where: `${board.title}: annotation ${annotation.name}`, expr: annotation.expr });
  }
  return queries;
}

// The names of metrics in an expression.
export function metricsOf(expr) {
  const bare = expr.replace(/\{[^}]*\}/g, '').replace(/\b(by|on|group_left)\s*\([^)]*\)/g, '').replace(/\[[^\]]*\]/g, '');
  return new Set([...bare.matchAll(/\b(?:paceline|process)_\w+|\bup\b/g)].map((m) => m[0]));
}
