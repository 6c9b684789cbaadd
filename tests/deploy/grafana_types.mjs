// Compares a dashboard with Grafana's own types.
import { cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';

import { compile } from './manifests.mjs';

const MODULES = `${process.env.PACELINE_DEPLOY_TESTS}/node_modules`;
const TYPES = `${process.cwd()}/grafana`;

// Enumerations become unions of their values, which is what JSON holds.
function copyTypes() {
  if (existsSync(TYPES)) return;
  cpSync(`${MODULES}/@grafana/schema/dist/types`, TYPES, { recursive: true });
  for (const name of readdirSync(TYPES, { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue;
    const path = `${TYPES}/${name}`;
    const source = readFileSync(path, 'utf8');
    const members = new Map();
    let text = source.replace(/export declare enum (\w+) \{([^}]*)\}/g, (_, type, body) => {
      const values = [...body.matchAll(/(\w+) = ("[^"]*"|-?\d+)/g)];
      for (const [, member, value] of values) members.set(`${type}.${member}`, value);
      return `export type ${type} = ${values.map((m) => m[2]).join(' | ')};`;
    });
    for (const [member, value] of members) {
      text = text.replaceAll(new RegExp(`\\b${member.replace('.', '\\.')}\\b`, 'g'), value);
    }
    if (text !== source) writeFileSync(path, text);
  }
}

// The types say nothing of what a data source adds to an annotation.
const OF_PROMETHEUS = ['expr', 'step', 'titleFormat', 'textFormat'];

function withoutQueries(annotation) {
  return Object.fromEntries(Object.entries(annotation).filter(([key]) => !OF_PROMETHEUS.includes(key)));
}

const json = (value) => JSON.stringify(value, null, 1);

// What is wrong with the dashboard.
export function dashboardProblems(dashboard) {
  copyTypes();
  const problems = [];
  const lines = [`import type { Dashboard, Panel, RowPanel } from "./grafana/raw/dashboard/x/types.gen.d.ts";`];
  const panels = dashboard.panels.flatMap((panel) => [panel, ...panel.panels ?? []]);
  panels.forEach((panel, i) => {
    const row = panel.type === 'row';
    lines.push(`export const p${i}: ${row ? 'RowPanel' : 'Panel'} = ${json({ ...panel, panels: row ? [] : undefined })};`);
    if (row) return;
    // The plugin "state-timeline" has its types in "statetimeline".
    const file = `grafana/raw/composable/${panel.type.replace('-', '')}/panelcfg/x/types.gen.d.ts`;
    if (!existsSync(`${process.cwd()}/${file}`)) {
      problems.push(`${panel.title}: Grafana has no panel "${panel.type}"`);
      return;
    }
    const source = readFileSync(`${process.cwd()}/${file}`, 'utf8');
    const { custom } = panel.fieldConfig.defaults;
    if (/interface Options\b/.test(source)) {
      lines.push(`export const o${i}: Partial<import("./${file}").Options> = ${json(panel.options)};`);
    }
    if (custom && /interface FieldConfig\b/.test(source)) {
      lines.push(`export const c${i}: Partial<import("./${file}").FieldConfig> = ${json(custom)};`);
    }
  });
  const annotations = { list: dashboard.annotations.list.map(withoutQueries) };
  lines.push(`export const board: Omit<Dashboard, "panels"> = ${json({ ...dashboard, panels: undefined, annotations })};`);
  problems.push(...compile(`${process.cwd()}/board.check.ts`, lines.join('\n'),
    { paths: { '@grafana/schema': ['./grafana/index.d.ts'] } }));
  return problems;
}
