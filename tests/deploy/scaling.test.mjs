// Pools whose size follows what jobs ask for.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { parse } from 'yaml';

import { find, notes, render } from './helm.mjs';
import { VALUE_SETS } from './value_sets.mjs';

test('a scaled pool does not say how many', () => {
  const objects = render(VALUE_SETS['scaled by demand']);
  assert.equal(find(objects, 'Deployment', '-worker-cpu').spec.replicas, undefined);
  // Demand may have made it large: not all of it goes at once.
  assert.equal(find(objects, 'Deployment', '-worker-cpu').spec.strategy.type, 'RollingUpdate');
  assert.equal(find(objects, 'HorizontalPodAutoscaler', '-worker-cpu').spec.maxReplicas, 20);
});

test('KEDA may take the last worker of a pool away', () => {
  const objects = render(VALUE_SETS['scaled to zero']);
  const worker = find(objects, 'Deployment', '-worker-cpu');
  assert.equal(worker.spec.replicas, undefined);
  assert.equal(worker.spec.strategy.type, 'RollingUpdate');
  assert.ok(!objects.some((o) => o.kind === 'HorizontalPodAutoscaler'), 'KEDA makes its own');
  const { spec } = find(objects, 'ScaledObject', '-worker-cpu');
  assert.deepEqual(spec.scaleTargetRef, { apiVersion: 'apps/v1', kind: 'Deployment', name: worker.metadata.name });
  assert.deepEqual([spec.minReplicaCount, spec.maxReplicaCount, spec.pollingInterval, spec.cooldownPeriod], [0, 20, 30, 300]);
  const [trigger] = spec.triggers;
  assert.equal(trigger.metadata.serverAddress, 'http://prometheus.monitoring:9090');
  assert.equal(trigger.metadata.threshold, '1');
  assert.equal(trigger.metadata.ignoreNullValues, 'false');
  assert.equal(trigger.authenticationRef, undefined);
  const cloud = find(objects, 'ScaledObject', '-worker-cloud').spec;
  assert.deepEqual([cloud.minReplicaCount, cloud.pollingInterval, cloud.cooldownPeriod], [1, 15, 600]);
  assert.equal(cloud.triggers[0].metadata.query, `sum(wanted{pool="a100",zone='b'})`);
  assert.equal(cloud.triggers[0].metadata.authModes, 'bearer');
  assert.deepEqual(cloud.triggers[0].authenticationRef, { name: 'prometheus' });
  // Nobody scales evaluators, whatever pools have in common.
  const shared = { autoscaling: { keda: { enabled: true, serverAddress: 'http://prometheus:9090' } } };
  assert.deepEqual(render({ poolDefaults: shared, pools: { a: {}, b: {}, cpu: null } })
    .filter((o) => o.kind === 'ScaledObject').map((o) => o.metadata.name), ['r-paceline-worker-a', 'r-paceline-worker-b']);
  assert.equal(find(render({ poolDefaults: shared }), 'Deployment', '-evaluator').spec.replicas, 1);
});

test('what KEDA asks Prometheus is what jobs want, nothing, or no answer', (context) => {
  if (spawnSync('promtool', ['--version']).error) return context.skip('there is no promtool');
  const expr = find(render(VALUE_SETS['scaled to zero']), 'ScaledObject', '-worker-cpu').spec.triggers[0].metadata.query;
  writeFileSync('demand.json', JSON.stringify({ groups: [{ name: 'demand', rules: [{ record: 'demand', expr }] }] }));
  const wanted = (pool, value, namespace = 'lab', instance = 'c-0') =>
    ({ series: `paceline_coordinator_pool_workers_wanted{namespace="${namespace}",pool="${pool}",instance="${instance}"}`, values: value });
  const leads = (value, namespace = 'lab') => ({ series: `paceline_coordinator_leads{namespace="${namespace}"}`, values: value });
  const cases = [
    ['jobs want three', [leads('1'), wanted('cpu', '3'), wanted('gpu', '8'), wanted('cpu', '9', 'other')], 3],
    ['workers are there, and nobody wants them', [leads('1'), wanted('cpu', '0')], 0],
    ['no job names the pool, and no worker is of it', [leads('1'), wanted('gpu', '8')], 0],
    ['one that stands by knows of no jobs', [leads('1'), wanted('cpu', '3'), wanted('cpu', '0', 'lab', 'c-1')], 3],
    ['only another release has a coordinator', [leads('1', 'other'), wanted('cpu', '9', 'other')], undefined],
  ];
  writeFileSync('demand_test.json', JSON.stringify({
    rule_files: ['demand.json'],
    tests: cases.map(([name, series, value]) => ({
      name, interval: '30s', input_series: series,
      promql_expr_test: [{ expr: 'demand', eval_time: '0s', exp_samples: value === undefined ? [] : [{ labels: 'demand', value }] }],
    })),
  }));
  execFileSync('promtool', ['test', 'rules', 'demand_test.json'], { stdio: ['ignore', 'pipe', 'pipe'] });
});

test('a first job names the pool that would have no worker without it', () => {
  const keda = { enabled: true, serverAddress: 'http://prometheus:9090' };
  const empty = { autoscaling: { keda } };
  const cases = [
    [{}, undefined],
    [{ pools: { cpu: empty } }, 'cpu'],
    [{ pools: { cpu: null, a: empty, b: empty } }, 'a'],
    [{ pools: { cpu: {}, a: empty } }, undefined],
    [{ pools: { cpu: { autoscaling: { keda: { ...keda, minReplicas: 1 } } }, a: empty } }, undefined],
    [{ pools: { cpu: { autoscaling: { enabled: true }, replicas: 0 }, a: empty } }, undefined],
    // Programs train no LeNet.
    [{ pools: { cpu: { program: { name: 'x', image: 'x:1' } }, b: empty } }, 'b'],
    [{ pools: { cpu: { replicas: 0 } } }, undefined],
  ];
  for (const [values, pool] of cases) {
    const job = parse(find(render(values), 'ConfigMap', '-test').data['job.yaml']);
    assert.deepEqual(job.spec.workers, pool ? { min: 1, pools: [pool] } : { min: 1 }, JSON.stringify(values));
    const text = notes(values);
    const [, piped] = /\n\n +echo '([^']*)' \| paceline job create -f -\n/.exec(text);
    // More workers would make fewer and larger updates of so few samples, and learn little.
    assert.deepEqual(parse(piped).spec.workers, pool ? { max: 2, pools: [pool] } : { max: 2 }, text);
    assert.equal(text.includes(`until pool ${pool} has one`), pool !== undefined);
  }
  assert.match(notes({ pools: { cpu: empty } }), /^- 0 to 8 workers in pool cpu, as jobs ask for them$/m);
});
