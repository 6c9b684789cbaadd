// Pools whose workers train with a program of their owner's.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';

import { find, podOf, render } from './helm.mjs';
import { VALUE_SETS } from './value_sets.mjs';

const PROGRAMS = VALUE_SETS['programs of one\'s own'];

// [agent, program] of a pool's pods, and their volumes by name.
function partsOf(deployment) {
  const { containers, volumes } = podOf(deployment).spec;
  assert.deepEqual(containers.map((c) => c.name), ['agent', 'program'], deployment.metadata.name);
  return { agent: containers[0], program: containers[1], volumes: Object.fromEntries(volumes.map((v) => [v.name, v])) };
}

const pool = (values, end = '-worker-a') => find(render(values), 'Deployment', end);
const ONE = { name: 'x', image: 'x:1' };
const mountsOf = (container) => Object.fromEntries(container.volumeMounts.map((m) => [m.name, m.mountPath]));
const valueOf = (container, name) => container.env.findLast((one) => one.name === name)?.value;

test('a program computes beside its agent, and they meet at one socket', () => {
  const { agent, program, volumes } = partsOf(pool(PROGRAMS, '-worker-a100'));
  assert.match(agent.image, /^paceline\/worker-cpu:/);
  assert.deepEqual(agent.command, ['paceline-worker']);
  for (const arg of ['--name=$(POD_NAME)', '--pool=a100', '--device=cpu', '--program=resnet-cifar', '--tls-cert=/tls/tls.crt', '--low-priority']) {
    assert.ok(agent.args.includes(arg), arg);
  }
  assert.equal(program.image, 'registry.lab/resnet:7');
  assert.deepEqual(program.command, ['python3', '/app/train.py']);
  assert.deepEqual(program.args, ['--fast']);
  assert.deepEqual(program.envFrom, [{ secretRef: { name: 'tracking' } }]);
  assert.equal(valueOf(program, 'OMP_NUM_THREADS'), '4');
  // The same folder in both, in memory; no room for more than a socket.
  const socket = valueOf(program, 'PACELINE_PROGRAM');
  assert.ok(agent.args.includes(`--program-socket=${socket}`), socket);
  for (const container of [agent, program]) assert.ok(socket.startsWith(`${mountsOf(container).program}/`));
  assert.deepEqual(volumes.program.emptyDir, { medium: 'Memory', sizeLimit: '1Mi' });
});

test('both are one user, whom the socket lets in', () => {
  for (const end of ['-worker-a100', '-worker-laptop', '-evaluator']) {
    const deployment = pool(PROGRAMS, end);
    const { agent, program } = partsOf(deployment);
    for (const { securityContext } of [agent, program]) {
      for (const own of ['runAsUser', 'runAsGroup', 'runAsNonRoot']) assert.ok(!(own in securityContext), own);
    }
    const { securityContext } = podOf(deployment).spec;
    assert.equal(securityContext.fsGroup, securityContext.runAsUser);
  }
});

test('the GPU, the data and the memory to share are the program\'s', () => {
  const { agent, program, volumes } = partsOf(pool(PROGRAMS, '-worker-a100'));
  assert.deepEqual(program.resources, {
    requests: { cpu: '4', memory: '16Gi', 'nvidia.com/gpu': '1' }, limits: { memory: '16Gi', 'nvidia.com/gpu': '1' } });
  assert.equal(valueOf(program, 'NVIDIA_VISIBLE_DEVICES'), undefined);
  assert.equal(valueOf(agent, 'NVIDIA_VISIBLE_DEVICES'), 'void');
  assert.deepEqual(mountsOf(program), { program: '/run/paceline', shm: '/dev/shm', tmp: '/tmp', data: '/data', scratch: '/scratch' });
  assert.deepEqual(volumes.shm.emptyDir, { medium: 'Memory', sizeLimit: '8Gi' });
  // It speaks with its agent alone, and holds nothing to speak with others.
  assert.deepEqual(mountsOf(agent), { program: '/run/paceline', tls: '/tls' });
  assert.ok(!agent.args.some((arg) => /^--(data-root|threads|gpu)/.test(arg)), agent.args.join(' '));
  const { program: alone } = partsOf(pool(PROGRAMS, '-worker-laptop'));
  assert.equal(valueOf(alone, 'NVIDIA_VISIBLE_DEVICES'), 'void');
});

test('an agent has room for weights and gradients', () => {
  const resources = (program) => partsOf(pool({ pools: { a: { program: { ...ONE, ...program } } } })).agent.resources;
  const cases = [
    [{}, '1280Mi', '2048Mi'],
    [{ weightsSize: '1Mi' }, '258Mi', '1026Mi'],
    [{ weightsSize: '3Gi', agentResources: { requests: { memory: '1Gi' } } }, '7168Mi', '7168Mi'],
    [{ weightsSize: '100Mi', agentResources: { limits: { memory: '512Mi' } } }, '456Mi', '712Mi'],
  ];
  for (const [program, request, limit] of cases) {
    assert.deepEqual(resources(program), { requests: { cpu: '250m', memory: request }, limits: { memory: limit } }, JSON.stringify(program));
  }
});

test('evaluators can have a program, on a GPU too', () => {
  const { agent, program } = partsOf(pool(PROGRAMS, '-evaluator'));
  assert.ok(agent.args.includes('--evaluator'));
  assert.ok(agent.args.includes('--program=resnet-cifar'));
  assert.equal(program.resources.limits['nvidia.com/gpu'], '1');
  assert.equal(program.command, undefined, 'the image knows');
});

test('a program may be let write its root', () => {
  for (const readOnlyRootFilesystem of [true, false]) {
    const { agent, program } = partsOf(pool({ pools: { a: { program: { ...ONE, readOnlyRootFilesystem } } } }));
    assert.equal(program.securityContext.readOnlyRootFilesystem, readOnlyRootFilesystem);
    assert.equal(agent.securityContext.readOnlyRootFilesystem, true);
  }
});

test('a default program is taken away by a pool, and leaves nothing', () => {
  const objects = render({ poolDefaults: { program: ONE }, pools: { a: {}, b: { program: { name: '', image: '' } } } });
  partsOf(find(objects, 'Deployment', '-worker-a'));
  partsOf(find(objects, 'Deployment', '-evaluator'));
  const without = podOf(find(objects, 'Deployment', '-worker-b')).spec;
  const plain = podOf(pool({ pools: { b: {} } }, '-worker-b')).spec;
  assert.deepEqual(without, plain);
});

// What the command prints for people without the chart; its own test compares
// it with the same file.
test('`paceline worker manifest` makes the same pods', () => {
  const printed = parse(readFileSync(join(process.env.PACELINE_ROOT, 'tests/testdata/cli/worker_manifest.yaml'), 'utf8'));
  const a100 = { ...PROGRAMS.pools.a100, extraVolumes: [], extraArgs: [] };
  a100.program = { ...a100.program, args: [], envFrom: [], volumeMounts: [] };
  const chart = pool({ ...PROGRAMS, pools: { a100 }, images: { workerCpu: { tag: '9' } } }, '-worker-a100');
  const { serviceAccountName, ...pod } = podOf(chart).spec;
  assert.equal(serviceAccountName, 'r-paceline');
  assert.deepEqual(podOf(printed).spec, pod);
  assert.deepEqual(printed.spec.strategy, chart.spec.strategy);
  assert.equal(printed.spec.replicas, chart.spec.replicas);
  for (const [key, value] of Object.entries(printed.spec.selector.matchLabels)) {
    assert.equal(podOf(printed).metadata.labels[key], value);
  }
});
