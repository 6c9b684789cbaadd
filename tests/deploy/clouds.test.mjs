// The values for clouds and for kind, as they lie beside the chart.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';

import { CHART, CURRENT, OLD, find, helm, podOf, render } from './helm.mjs';
import { compilerProblems, problemsOf } from './manifests.mjs';

// Each with the files that go before it.
const STACKS = {
  'values-eks.yaml': ['values-eks.yaml'],
  'values-gke-spot.yaml': ['values-gke.yaml', 'values-gke-spot.yaml'],
  'values-gke.yaml': ['values-gke.yaml'],
  'values-kind.yaml': ['values-kind.yaml'],
};
const pathsOf = (file) => STACKS[file].map((one) => `${CHART}/${one}`);
const objectsOf = (file, cluster) => render({}, cluster, 'r', pathsOf(file));
const poolsOf = (objects) => objects.filter((o) => o.kind === 'Deployment' && o.metadata.name.includes('-worker-'));
const claimOf = (objects, end) => find(objects, 'PersistentVolumeClaim', end).spec;

test('every file is looked at', () => {
  assert.deepEqual(readdirSync(CHART).filter((name) => /^values-.*\.yaml$/.test(name)).sort(), Object.keys(STACKS));
});

for (const file of Object.keys(STACKS)) {
  test(`${file}: helm lint, and every object is what Kubernetes expects`, async () => {
    assert.match(helm('lint', '--strict', CHART, ...pathsOf(file).flatMap((path) => ['-f', path])), /0 chart\(s\) failed/);
    const all = [OLD, CURRENT].flatMap((cluster) => objectsOf(file, cluster));
    for (const cluster of [OLD, CURRENT]) assert.deepEqual(await problemsOf(objectsOf(file, cluster)), [], cluster.version);
    assert.deepEqual(compilerProblems(all), []);
  });
}

// The label by which the cloud tells GPU models apart.
const GPU_LABELS = {
  'values-eks.yaml': 'karpenter.k8s.aws/instance-gpu-name',
  'values-gke-spot.yaml': 'cloud.google.com/gke-accelerator',
  'values-gke.yaml': 'cloud.google.com/gke-accelerator',
};

for (const [file, label] of Object.entries(GPU_LABELS)) {
  test(`${file}: a pool for each GPU model, on its nodes`, () => {
    const objects = objectsOf(file);
    const pools = poolsOf(objects);
    assert.equal(pools.length, 3);
    const models = pools.map((pool) => podOf(pool).spec.nodeSelector[label]);
    assert.equal(new Set(models).size, 3, models.join());
    assert.ok(!models.includes(undefined));
    for (const { spec } of pools.map(podOf)) {
      assert.equal(spec.containers[0].resources.limits['nvidia.com/gpu'], '1');
      assert.ok(spec.tolerations.some((one) => one.key === 'nvidia.com/gpu' && one.operator === 'Exists'));
    }
    // What needs no GPU keeps off such nodes, and off those that may vanish.
    for (const [kind, end] of [['StatefulSet', '-coordinator'], ['StatefulSet', '-server'], ['Deployment', '-evaluator']]) {
      assert.equal(podOf(find(objects, kind, end)).spec.tolerations, undefined, end);
    }
    assert.deepEqual(claimOf(objects, '-checkpoints').accessModes, ['ReadWriteMany']);
    assert.ok(claimOf(objects, '-checkpoints').storageClassName);
  });
}

test('spot workers end within the time that GKE gives them', () => {
  for (const { spec } of poolsOf(objectsOf('values-gke-spot.yaml')).map(podOf)) {
    assert.equal(spec.nodeSelector['cloud.google.com/gke-spot'], 'true');
    assert.ok(spec.tolerations.some((one) => one.key === 'cloud.google.com/gke-spot'));
    assert.ok(spec.terminationGracePeriodSeconds <= 15);
    assert.ok(spec.containers[0].args.includes('--grace=5s'));
  }
  assert.ok(poolsOf(objectsOf('values-gke.yaml')).every((pool) => !podOf(pool).spec.nodeSelector['cloud.google.com/gke-spot']));
});

test('on GKE the user of the pods gets the checkpoints\' folder', () => {
  const objects = objectsOf('values-gke.yaml');
  const { spec } = podOf(find(objects, 'Job', '-checkpoints-owner'));
  const { runAsUser, runAsGroup } = podOf(find(objects, 'StatefulSet', '-server')).spec.securityContext;
  assert.deepEqual(spec.containers[0].command, ['chown', `${runAsUser}:${runAsGroup}`, '/checkpoints']);
  assert.equal(spec.volumes[0].persistentVolumeClaim.claimName, find(objects, 'PersistentVolumeClaim', '-checkpoints').metadata.name);
});

test('the storage classes for EKS are what Kubernetes expects, and the claims name them', async () => {
  const comment = readFileSync(`${CHART}/values-eks.yaml`, 'utf8').split('\n').filter((line) => line.startsWith('#   '));
  const classes = parseAllDocuments(comment.map((line) => line.slice(4)).join('\n')).map((one) => one.toJS());
  assert.deepEqual(await problemsOf(classes), []);
  assert.deepEqual(compilerProblems(classes), []);
  const objects = objectsOf('values-eks.yaml');
  assert.deepEqual(classes.map((one) => one.metadata.name),
    [claimOf(objects, '-store').storageClassName, claimOf(objects, '-checkpoints').storageClassName]);
  const { runAsUser, runAsGroup } = podOf(find(objects, 'StatefulSet', '-server')).spec.securityContext;
  assert.deepEqual([classes[1].parameters.uid, classes[1].parameters.gid], [`${runAsUser}`, `${runAsGroup}`]);
});

test('a trial on kind fits two CPUs, and says what it asks for', () => {
  const objects = objectsOf('values-kind.yaml');
  let cpu = 0;
  let memory = 0;
  for (const object of objects.filter((o) => ['StatefulSet', 'Deployment'].includes(o.kind))) {
    for (const { resources: { requests } } of podOf(object).spec.containers) {
      cpu += object.spec.replicas * /^(\d+)m$/.exec(requests.cpu)[1];
      memory += object.spec.replicas * /^(\d+)Mi$/.exec(requests.memory)[1];
    }
  }
  const text = readFileSync(`${CHART}/values-kind.yaml`, 'utf8');
  assert.ok(text.includes(`${cpu}m of CPU and ${memory}Mi of memory`), `${cpu}m ${memory}Mi`);
  assert.deepEqual(claimOf(objects, '-checkpoints').accessModes, ['ReadWriteOnce']);
});
