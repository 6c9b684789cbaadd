// Compares objects with the types of Kubernetes and of the Prometheus operator:
// wrong and missing fields, patterns, and fields that do not exist.
import { existsSync } from 'node:fs';
import ts from 'typescript';

const MODULES = `${process.env.PACELINE_DEPLOY_TESTS}/node_modules`;
// Its main entry needs a newer Node; the table of fields does not.
const client = await import(`${MODULES}/@kubernetes/client-node/dist/gen/models/ObjectSerializer.js`);

// The types are of a current release. What an older one calls otherwise has the
// same fields, as far as the chart uses them.
const SAME = {
  'autoscaling/v2beta2': 'autoscaling/v2',
  'batch/v1beta1': 'batch/v1',
  'policy/v1beta1': 'policy/v1',
};
// No package has their types.
const UNTYPED = ['cert-manager.io/v1'];

// Whose types are not Kubernetes' own, and the package that has them.
const PACKAGES = {
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

function moduleOf(apiVersion) {
  return `${PACKAGES[apiVersion.split('/')[0]] ?? 'kubernetes-models'}/${apiVersion}`;
}

function serializerOf(apiVersion, kind) {
  const version = apiVersion.split('/').pop();
  return `${version[0].toUpperCase()}${version.slice(1)}${kind}`;
}

// Fields that the API server would not know, by the client's table of fields.
function unknownFields(type, value, path, told) {
  if (value === null || value === undefined) return;
  const list = /^Array<(.*)>$/.exec(type);
  if (list) {
    if (!Array.isArray(value)) told.push(`${path}: want a list`);
    else value.forEach((item, i) => unknownFields(list[1], item, `${path}/${i}`, told));
    return;
  }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type);
  if (map) {
    for (const key of Object.keys(value)) unknownFields(map[1], value[key], `${path}/${key}`, told);
    return;
  }
  const table = client[type]?.getAttributeTypeMap?.();
  if (!table) return;
  const fields = new Map(table.map((field) => [field.baseName, field.type]));
  for (const key of Object.keys(value)) {
    if (fields.has(key)) unknownFields(fields.get(key), value[key], `${path}/${key}`, told);
    else told.push(`${path}/${key}: there is no such field`);
  }
}

const normalized = (object) => ({ ...object, apiVersion: SAME[object.apiVersion] ?? object.apiVersion });

// What is wrong with a list of objects that make one release.
export async function problemsOf(objects) {
  const problems = [];
  const seen = new Set();
  for (const original of objects) {
    const object = normalized(original);
    const id = `${object.kind}/${object.metadata?.name}`;
    // Hooks of different events may share a name: the later replaces the former.
    const key = `${id} ${object.metadata?.annotations?.['helm.sh/hook'] ?? ''}`;
    if (seen.has(key)) problems.push(`${id}: twice`);
    seen.add(key);
    if (UNTYPED.includes(object.apiVersion)) continue;
    const told = [];
    try {
      const { [object.kind]: Model } = await import(`${moduleOf(object.apiVersion)}/${object.kind}`);
      new Model(object).validate();
    } catch (error) {
      for (const one of error.errors ?? [error]) told.push(`${one.instancePath ?? ''}: ${one.message}`);
    }
    unknownFields(serializerOf(object.apiVersion, object.kind), object, '', told);
    problems.push(...told.map((text) => `${id}${text}`));
  }
  return problems;
}

// What the compiler says of the objects as literals of their types: it finds
// unknown fields of the Prometheus operator's types too. One program for all,
// for it takes seconds.
export function compilerProblems(objects) {
  const folder = process.cwd();
  const lines = ['export {};'];
  objects.map(normalized).forEach((object, i) => {
    const module = `${moduleOf(object.apiVersion)}/${object.kind}`;
    if (!existsSync(`${MODULES}/${module}.d.ts`)) return;
    lines.push(`import type { I${object.kind} as T${i} } from "${module}";`);
    lines.push(`export const o${i}: T${i} = ${JSON.stringify(object)};`);
  });
  return compile(`${folder}/manifests.check.ts`, lines.join('\n'), {});
}

export function compile(file, text, options) {
  const all = {
    noEmit: true, strict: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler, types: [], allowImportingTsExtensions: true, ...options,
  };
  const host = ts.createCompilerHost(all);
  const read = host.getSourceFile;
  host.getSourceFile = (name, ...rest) => name === file ? ts.createSourceFile(name, text, all.target) : read(name, ...rest);
  const exists = host.fileExists;
  host.fileExists = (name) => name === file || exists(name);
  return ts.getPreEmitDiagnostics(ts.createProgram([file], all, host))
    .map((one) => ts.flattenDiagnosticMessageText(one.messageText, '\n'));
}
