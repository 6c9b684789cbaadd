import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { dashboardProblems } from './grafana_types.mjs';
import { CHART } from './helm.mjs';
import { metricsOf, queriesOf } from './queries.mjs';

const FOLDER = `${CHART}/dashboards`;
const BOARDS = readdirSync(FOLDER).map((file) => JSON.parse(readFileSync(`${FOLDER}/${file}`, 'utf8')));
const panelsOf = (board) => board.panels.filter((panel) => panel.type !== 'row');

test('they are in step with what they are made from', () => {
  execFileSync(`${process.env.PACELINE_ROOT}/helm/generate_dashboards.py`, ['--check']);
});

test('there are four, told apart', () => {
  assert.equal(BOARDS.length, 4);
  assert.equal(new Set(BOARDS.map((board) => board.uid)).size, 4);
  for (const board of BOARDS) {
    assert.equal(board.id, undefined);
    const ids = board.panels.map((panel) => panel.id);
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(board.links.length, 3);
  }
});

for (const board of BOARDS) {
  test(`${board.title} is what Grafana expects`, () => {
    assert.deepEqual(dashboardProblems(board), []);
  });
}

test('what is wrong with a dashboard is seen', () => {
  const board = structuredClone(BOARDS[0]);
  const [first, second] = panelsOf(board);
  first.fieldConfig.defaults.units = 'none';
  second.options.colorMode = 'rainbow';
  board.panels[2].type = 'graph';
  const problems = dashboardProblems(board).join();
  for (const part of ['units', 'rainbow', 'no panel "graph"']) assert.ok(problems.includes(part), problems);
});

test('every panel has a description, a unit and the chosen data source', () => {
  for (const board of BOARDS) {
    for (const panel of panelsOf(board)) {
      const where = `${board.title}: ${panel.title}`;
      assert.match(panel.description, /\w.*\.$/, where);
      assert.ok(panel.fieldConfig.defaults.unit, where);
      assert.equal(panel.datasource.uid, '${datasource}', where);
      for (const target of panel.targets) assert.equal(target.datasource.uid, '${datasource}', where);
    }
    for (const variable of board.templating.list) {
      if (variable.type === 'query') assert.equal(variable.datasource.uid, '${datasource}');
    }
  }
});

test('every query is of the chosen namespaces', () => {
  for (const board of BOARDS) {
    for (const { where, expr } of queriesOf(board)) {
      if (where.endsWith('variable namespace')) continue;
      for (const [, selector] of expr.matchAll(/\b(?:paceline_\w+|process_\w+|up)\b(?:\{([^}]*)\})?/g)) {
        assert.match(selector ?? '', /^namespace=~"\$namespace"/, `${where}: ${expr}`);
      }
      assert.doesNotMatch(expr, /\b(by|on) \((job_id|instance)/, `${where}: ${expr}`);
    }
  }
});

test('rates follow the resolution, or span minutes', () => {
  for (const board of BOARDS) {
    for (const { where, expr } of queriesOf(board)) {
      for (const [, range] of expr.matchAll(/\[([^\]]+)\]/g)) {
        assert.ok(['$__rate_interval', '5m', '1h'].includes(range), `${where}: [${range}]`);
      }
    }
  }
});

test('panels do not overlap', () => {
  for (const board of BOARDS) {
    const taken = new Map();
    for (const { title, gridPos: { x, y, w, h } } of board.panels) {
      assert.ok(x + w <= 24, title);
      for (let i = x; i < x + w; ++i) {
        for (let j = y; j < y + h; ++j) {
          assert.equal(taken.get(`${i} ${j}`), undefined, `${title} lies on ${taken.get(`${i} ${j}`)}`);
          taken.set(`${i} ${j}`, title);
        }
      }
    }
  }
});

test('every metric in a query is one that is documented', () => {
  const page = readFileSync(`${process.env.PACELINE_ROOT}/docs/metrics.md`, 'utf8');
  const known = new Set([...page.matchAll(/^\| `(\w+)`/gm)].map((m) => m[1]));
  assert.ok(known.size > 50);
  const base = (name) => name.replace(/_(bucket|sum|count)$/, '');
  for (const board of BOARDS) {
    for (const { where, expr } of queriesOf(board)) {
      for (const name of metricsOf(expr)) {
        assert.ok(name === 'up' || known.has(name) || known.has(base(name)), `${where}: ${name}`);
      }
    }
  }
});

test('every query can be parsed', (context) => {
  if (spawnSync('promtool', ['--version']).error) return context.skip('there is no promtool');
  for (const board of BOARDS) {
    const rules = queriesOf(board).map(({ where, expr }, i) => ({
      record: `q:${i}`, expr: expr.replaceAll('$__rate_interval', '1m').replace(/\$\w+/g, '.*'), labels: { where },
    }));
    writeFileSync('rules.json', JSON.stringify({ groups: [{ name: 'board', rules }] }));
    execFileSync('promtool', ['check', 'rules', 'rules.json'], { stdio: ['ignore', 'ignore', 'pipe'] });
  }
});
