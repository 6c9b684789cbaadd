import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

import { CHART, CURRENT, OLD, find, helm, notes, podOf, refusal, render } from './helm.mjs';
import { compilerProblems, problemsOf } from './manifests.mjs';
import { VALUE_SETS, WRONG_VALUES } from './value_sets.mjs';

// An old cluster has none of the optional types.
const forOld = (values) => !values.metrics && values.tls?.mode !== 'certManager' && !values.coordinator?.grpcRoute &&
  !Object.values(values.pools ?? {}).some((pool) => pool?.autoscaling?.keda);

const WORKLOADS = ['StatefulSet', 'Deployment', 'Job', 'CronJob', 'Pod'];

const argsOf = (object) => podOf(object).spec.containers[0].args;

test('helm lint --strict', () => {
  assert.match(helm('lint', '--strict', CHART), /0 chart\(s\) failed/);
});

test('every object of every set of values is what Kubernetes expects', async () => {
  const all = [];
  for (const [name, values] of Object.entries(VALUE_SETS)) {
    for (const cluster of [OLD, CURRENT]) {
      if (cluster === OLD && !forOld(values)) continue;
      const objects = render(values, cluster);
      assert.deepEqual(await problemsOf(objects), [], `${name} on ${cluster.version}`);
      all.push(...objects);
    }
  }
  assert.deepEqual(compilerProblems(all), []);
});

test('what is wrong with an object is seen', async () => {
  const objects = render(VALUE_SETS.watched);
  const server = structuredClone(find(objects, 'StatefulSet', '-server'));
  server.spec.replica = 3;
  server.spec.template.spec.containers[0].ports[0].containerPort = 'grpc';
  const problems = await problemsOf([server]);
  assert.ok(problems.some((text) => text.includes('/spec/replica: there is no such field')), problems.join());
  assert.ok(problems.some((text) => text.includes('containerPort')), problems.join());
  const monitor = structuredClone(objects.find((o) => o.kind === 'PodMonitor'));
  monitor.spec.podMetricsEndpoints[0].intervall = '1s';
  assert.match(compilerProblems([monitor]).join(), /intervall/);
  const scaled = find(render(VALUE_SETS['scaled to zero']), 'ScaledObject', '-worker-cpu');
  scaled.spec.coolDownPeriod = 1;
  assert.match(compilerProblems([scaled]).join(), /coolDownPeriod/);
});

test('wrong values are refused with a sentence', () => {
  for (const [values, sentence] of WRONG_VALUES) {
    const text = refusal(values);
    assert.ok(text.includes(sentence), `${JSON.stringify(values)}: ${text || 'was accepted'}`);
  }
});

test('what a cluster does not have is not silently left out', () => {
  assert.match(refusal({ metrics: { podMonitor: { enabled: true } } }, OLD), /podMonitor.enabled needs the Prometheus operator/);
  assert.match(refusal({ tls: { mode: 'certManager', certManager: { issuerRef: { name: 'x' } } } }, OLD), /cert-manager's types/);
  const keda = { enabled: true, serverAddress: 'http://prometheus:9090' };
  assert.match(refusal({ pools: { cpu: { autoscaling: { keda } } } }, OLD), /pools.cpu.autoscaling.keda.enabled needs KEDA/);
  const coordinator = { grpcRoute: { enabled: true, parentRefs: [{ name: 'g' }] } };
  const early = { ...OLD, apis: ['gateway.networking.k8s.io/v1'] };  // It had HTTPRoute before.
  assert.match(refusal({ coordinator, tls: { mode: 'disabled' } }, early), /needs the Gateway API, whose GRPCRoute/);
});

test('each cluster gets the versions that it has', () => {
  const values = { pools: { cpu: { autoscaling: { enabled: true } } } };
  const versions = (cluster) => ['PodDisruptionBudget', 'CronJob', 'HorizontalPodAutoscaler']
    .map((kind) => render(values, cluster).find((o) => o.kind === kind).apiVersion);
  assert.deepEqual(versions(OLD), ['policy/v1beta1', 'batch/v1beta1', 'autoscaling/v2beta2']);
  assert.deepEqual(versions(CURRENT), ['policy/v1', 'batch/v1', 'autoscaling/v2']);
});

test('all pods are restricted', () => {
  for (const [name, values] of Object.entries(VALUE_SETS)) {
    for (const object of render(values).filter((o) => WORKLOADS.includes(o.kind))) {
      const { spec } = podOf(object);
      const where = `${name}: ${object.kind}/${object.metadata.name}`;
      assert.equal(spec.securityContext.runAsNonRoot, true, where);
      assert.equal(spec.securityContext.runAsUser, 65532, where);
      assert.equal(spec.securityContext.seccompProfile.type, 'RuntimeDefault', where);
      assert.equal(spec.enableServiceLinks, false, where);
      const component = object.metadata.labels['app.kubernetes.io/component'];
      const asks = component === 'coordinator' && values.coordinator?.replicas === 2;
      assert.equal(spec.automountServiceAccountToken, component === 'certificates' ? undefined : asks, where);
      for (const container of [...spec.initContainers ?? [], ...spec.containers]) {
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] },
        }, where);
        assert.ok(container.resources.limits.memory, where);
        assert.ok(!container.image.endsWith(':latest') && /[:@]/.test(container.image), where);
      }
    }
  }
});

test('labels and selectors', () => {
  for (const values of Object.values(VALUE_SETS)) {
    for (const object of render(values)) {
      if (object.metadata.name === 'r-more') continue;  // One's own.
      assert.ok(object.metadata.name.length <= 63, object.metadata.name);
      assert.equal(object.metadata.namespace, undefined, 'helm and kubectl say which');
      const labels = object.metadata.labels;
      for (const key of ['name', 'instance', 'component', 'version', 'managed-by', 'part-of']) {
        assert.ok(labels[`app.kubernetes.io/${key}`], `${object.kind}/${object.metadata.name}: ${key}`);
      }
      const selector = object.spec?.selector?.matchLabels;
      if (!['StatefulSet', 'Deployment'].includes(object.kind)) continue;
      assert.ok(!('app.kubernetes.io/version' in selector), 'it changes');
      for (const [key, value] of Object.entries(selector)) {
        assert.equal(object.spec.template.metadata.labels[key], value);
      }
    }
  }
});

test('a release name that is no name of a service', () => {
  assert.ok(render({}, CURRENT, 'a.b').every((object) => !object.metadata.name.includes('.')));
  assert.throws(() => render({}, CURRENT, '1st'), /set fullnameOverride/);
});

test('a new version of the chart alone starts no pod anew', () => {
  for (const object of render().filter((o) => ['StatefulSet', 'Deployment'].includes(o.kind))) {
    const { labels } = podOf(object).metadata;
    assert.ok(!('helm.sh/chart' in labels) && !('app.kubernetes.io/version' in labels), object.metadata.name);
  }
});

test('who shares a volume of one node is put there', () => {
  const termOf = (values, end) => podOf(find(render(values), 'StatefulSet', end)).spec.affinity;
  const once = { checkpoints: { accessModes: ['ReadWriteOnce'] } };
  for (const end of ['-coordinator', '-server']) {
    assert.ok(termOf(once, end).podAffinity.requiredDuringSchedulingIgnoredDuringExecution);
    assert.ok(termOf({}, end).podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution);
  }
  const mine = { nodeAffinity: {} };
  assert.deepEqual(termOf({ ...once, servers: { affinity: mine } }, '-server'), mine);
});

test('checkpoints in a bucket need no volume', () => {
  const objects = render(VALUE_SETS['a bucket']);
  assert.ok(!objects.some((o) => o.kind === 'PersistentVolumeClaim' && o.metadata.name.endsWith('-checkpoints')));
  for (const end of ['-coordinator', '-server']) {
    const set = find(objects, 'StatefulSet', end);
    const { containers: [container], volumes, affinity } = podOf(set).spec;
    assert.ok(argsOf(set).includes('--checkpoints=s3://models/runs'), end);
    assert.ok(!volumes.some((volume) => volume.name === 'checkpoints'));
    assert.ok(!container.volumeMounts.some((mount) => mount.name === 'checkpoints'));
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    assert.equal(env.AWS_ENDPOINT_URL_S3, 'https://minio.lab:9000');
    assert.equal(env.AWS_REGION, 'eu-west-1');
    assert.deepEqual(container.envFrom, [{ secretRef: { name: 'bucket' } }]);
    assert.ok(affinity.podAntiAffinity);
  }
  for (const worker of objects.filter((o) => o.kind === 'Deployment')) {
    assert.ok(!JSON.stringify(worker).includes('AWS_'), worker.metadata.name);
  }
});

test('the longest release name', () => {
  const objects = render({ pools: { 'a-pool-with-14': {} } }, CURRENT, 'x'.repeat(53));
  // A deployment's pods get 17 characters more, and are the workers' names.
  for (const object of objects) {
    const more = object.kind === 'Deployment' ? 17 : 0;
    assert.ok(object.metadata.name.length + more <= 63, object.metadata.name);
  }
});

test('coordinator', () => {
  const objects = render({ coordinator: { quota: { jobs: 5, parameterBytes: '20GiB' }, reflection: false } });
  const coordinator = find(objects, 'StatefulSet', '-coordinator');
  assert.equal(coordinator.spec.replicas, 1);
  const args = argsOf(coordinator);
  for (const arg of ['--store=/store/jobs.db', '--checkpoints=/checkpoints', '--max-jobs=5',
    '--max-parameter-bytes=20GiB', '--no-reflection', '--tls-cert=/tls/tls.crt', '--max-requests=1000']) {
    assert.ok(args.includes(arg), arg);
  }
  assert.ok(!args.some((arg) => arg.startsWith('--token-file')));
  const probes = podOf(coordinator).spec.containers[0];
  assert.equal(probes.livenessProbe.httpGet.path, '/healthz');
  assert.equal(probes.readinessProbe.httpGet.path, '/readyz');
  const service = find(objects, 'Service', '-coordinator').spec;
  assert.equal(service.type, 'ClusterIP');
  assert.deepEqual(service.ports.map((port) => port.name), ['grpc', 'metrics']);
});

test('two coordinators', () => {
  const objects = render(VALUE_SETS['two coordinators']);
  const sets = objects.filter((o) => o.kind === 'StatefulSet' && o.metadata.name.includes('-coordinator'));
  assert.deepEqual(sets.map((o) => o.metadata.name), ['r-paceline-coordinator', 'r-paceline-coordinator-second']);
  const lease = find(objects, 'Lease', '-coordinator');
  assert.equal(lease.metadata.annotations['helm.sh/resource-policy'], 'keep');
  for (const set of sets) {
    assert.equal(set.spec.replicas, 1);
    const args = argsOf(set);
    for (const arg of ['--name=$(POD_NAME)', '--advertise=$(POD_NAME).lab.svc:7070',
      '--leader-lock=kubernetes:r-paceline-coordinator', '--leader-label=paceline.dev/leads']) {
      assert.ok(args.includes(arg), arg);
    }
    const pod = `${set.metadata.name}-0`;
    const service = find(objects, 'Service', pod).spec;
    assert.equal(service.clusterIP, 'None');
    assert.equal(service.publishNotReadyAddresses, true);
    assert.equal(service.selector['statefulset.kubernetes.io/pod-name'], pod);
  }
  // The first one has the jobs of the time when it was alone.
  assert.deepEqual(sets.map((o) => argsOf(o).includes('--not-first')), [false, true]);
  const claims = sets.map((o) => podOf(o).spec.volumes.find((volume) => volume.name === 'store').persistentVolumeClaim.claimName);
  assert.deepEqual(claims, ['r-paceline-store', 'r-paceline-store-second']);
  for (const claim of claims) find(objects, 'PersistentVolumeClaim', claim);
  // Clients find whoever leads, and no other; the budget and the policy are of both.
  assert.equal(find(objects, 'Service', '-coordinator').spec.selector['paceline.dev/leads'], 'true');
  // By the label alone: a probe would be seconds behind.
  assert.equal(find(objects, 'Service', '-coordinator').spec.publishNotReadyAddresses, true);
  for (const [kind, selector] of [['PodDisruptionBudget', 'selector'], ['NetworkPolicy', 'podSelector']]) {
    const labels = find(objects, kind, '-coordinator').spec[selector].matchLabels;
    for (const set of sets) {
      for (const [key, value] of Object.entries(labels)) assert.equal(podOf(set).metadata.labels[key], value);
    }
  }
  // Its account may do that alone.
  const role = find(objects, 'Role', '-coordinator');
  assert.deepEqual(role.rules, [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: ['r-paceline-coordinator'], verbs: ['get', 'update'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['patch'],
      resourceNames: ['r-paceline-coordinator-0', 'r-paceline-coordinator-second-0'] },
  ]);
  const [subject] = find(objects, 'RoleBinding', '-coordinator').subjects;
  for (const set of sets) assert.equal(podOf(set).spec.serviceAccountName, subject.name);
  const job = objects.find((o) => o.kind === 'Job' && o.metadata.annotations['helm.sh/hook'].includes('pre-install'));
  const wanted = argsOf(job).find((arg) => arg.startsWith('coordinator=coordinator/coordinator,')).split(',');
  for (const set of sets) assert.ok(wanted.includes(`${set.metadata.name}-0.lab.svc`), wanted.join());
  // One has none of it.
  const alone = render();
  assert.equal(alone.filter((o) => o.kind === 'Lease').length, 0);
  assert.equal(find(alone, 'Service', '-coordinator').spec.selector['paceline.dev/leads'], undefined);
});

test('a port that the world reaches is not that of the metrics', () => {
  const service = find(render(VALUE_SETS['a load balancer']), 'Service', '-coordinator').spec;
  assert.deepEqual(service.ports.map((port) => port.name), ['grpc']);
  assert.deepEqual(service.loadBalancerSourceRanges, ['10.0.0.0/8']);
});

test('a gateway leads to the coordinator', () => {
  const objects = render(VALUE_SETS['behind a gateway']);
  const { spec } = find(objects, 'GRPCRoute', '-coordinator');
  assert.deepEqual(spec.parentRefs, [{ name: 'public', namespace: 'gateways', sectionName: 'https' }]);
  assert.deepEqual(spec.hostnames, ['train.example.com', '*.lab.example.com']);
  const service = find(objects, 'Service', '-coordinator');
  assert.deepEqual(spec.rules, [{ backendRefs: [{ name: service.metadata.name, port: service.spec.ports[0].port }] }]);
  assert.equal(service.spec.ports[0].appProtocol, undefined, 'it is TLS');
  // Who trusts the coordinator does so by a name that its certificate has.
  const { validation } = find(objects, 'BackendTLSPolicy', '-more').spec;
  const job = objects.find((o) => o.kind === 'Job' && o.metadata.annotations['helm.sh/hook'].includes('pre-install'));
  assert.ok(argsOf(job).some((arg) => arg.startsWith('coordinator=') && arg.split(',').includes(validation.hostname)));
  const plain = render(VALUE_SETS['behind a gateway, no TLS']);
  assert.equal(find(plain, 'GRPCRoute', '-coordinator').spec.hostnames, undefined);
  assert.equal(find(plain, 'Service', '-coordinator').spec.ports[0].appProtocol, 'kubernetes.io/h2c');
  assert.equal(render().filter((o) => o.kind === 'GRPCRoute').length, 0);
});

test('hooks go where they are told', () => {
  const hooks = render(VALUE_SETS['a load balancer']).filter((o) => ['Job', 'Pod'].includes(o.kind));
  assert.equal(hooks.length, 3);
  for (const hook of hooks) {
    const { spec } = podOf(hook);
    assert.deepEqual(spec.nodeSelector, { a: 'b' });
    assert.equal(spec.tolerations[0].operator, 'Exists');
  }
});

test('tokens let clients come without a certificate', () => {
  const args = argsOf(find(render({ tokens: { existingSecret: 't' } }), 'StatefulSet', '-coordinator'));
  assert.ok(args.includes('--token-file=/tokens/tokens'));
  assert.ok(args.includes('--tls-client-auth=optional'));
});

test('servers have names that workers can dial', () => {
  const objects = render();
  const service = find(objects, 'Service', '-server');
  assert.equal(service.spec.clusterIP, 'None');
  assert.equal(service.spec.publishNotReadyAddresses, true);
  const args = argsOf(find(objects, 'StatefulSet', '-server'));
  assert.ok(args.includes('--advertise=$(POD_NAME).r-paceline-server.lab.svc:7071'), args.join(' '));
  assert.ok(args.includes('--coordinator=r-paceline-coordinator.lab.svc:7070'));
});

test('pools', () => {
  const objects = render(VALUE_SETS['GPUs of three generations']);
  const pools = objects.filter((o) => o.kind === 'Deployment' && o.metadata.name.includes('-worker-'));
  assert.deepEqual(pools.map((o) => o.metadata.name.replace(/.*-worker-/, '')), ['a100', 'mig', 'v100']);
  const a100 = find(objects, 'Deployment', '-worker-a100');
  const [container] = podOf(a100).spec.containers;
  assert.deepEqual(container.resources.limits, { memory: '4Gi', 'nvidia.com/gpu': '1' });
  assert.equal(container.resources.requests['nvidia.com/gpu'], '1');
  assert.match(container.image, /^paceline\/worker:/);
  assert.ok(container.args.includes('--device=cuda'));
  assert.deepEqual(a100.spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: '25%' } });
  assert.ok(!container.env.some((one) => one.name === 'NVIDIA_VISIBLE_DEVICES'));
  assert.ok(argsOf(find(objects, 'Deployment', '-worker-v100')).includes('--gpu-memory-fraction=0.5'));
  assert.equal(podOf(find(objects, 'Deployment', '-worker-mig')).spec.containers[0].resources.limits['nvidia.com/mig-1g.5gb'], '1');
  const evaluator = find(objects, 'Deployment', '-evaluator');
  assert.ok(argsOf(evaluator).includes('--evaluator'));
  assert.match(podOf(evaluator).spec.containers[0].image, /^paceline\/worker-cpu:/);
});

test('a pod with several GPUs is one worker on all of them', () => {
  const gpu = { count: 3 };
  const objects = render({ pools: { cpu: null, big: { gpu } }, evaluators: { gpu } });
  const [container] = podOf(find(objects, 'Deployment', '-worker-big')).spec.containers;
  assert.ok(container.args.includes('--device=cuda:0,cuda:1,cuda:2'), container.args.join(' '));
  assert.equal(container.resources.limits['nvidia.com/gpu'], '3');
  assert.ok(argsOf(find(objects, 'Deployment', '-evaluator')).includes('--device=cuda'));
  assert.throws(() => render({ pools: { cpu: null, big: { gpu: { count: 17 } } } }), /count/);
});

test('a pod may have several iterations in flight, and counts as so many workers', () => {
  const poolDefaults = { inFlight: 2 };
  const objects = render({ poolDefaults, pools: { cpu: { autoscaling: { enabled: true } }, one: { inFlight: 1 } } });
  assert.ok(argsOf(find(objects, 'Deployment', '-worker-cpu')).includes('--in-flight=2'));
  for (const end of ['-worker-one', '-evaluator']) {
    assert.ok(!argsOf(find(objects, 'Deployment', end)).some((arg) => arg.startsWith('--in-flight')), end);
  }
  const [{ external: { target } }] = find(objects, 'HorizontalPodAutoscaler', '-worker-cpu').spec.metrics;
  assert.equal(target.averageValue, '2');
  const autoscaling = { keda: { enabled: true, serverAddress: 'http://prometheus:9090' } };
  assert.equal(find(render({ poolDefaults, pools: { cpu: { autoscaling } } }), 'ScaledObject', '-worker-cpu').spec.triggers[0].metadata.threshold, '2');
  const program = { name: 'x', image: 'x:1' };
  assert.throws(() => render({ pools: { cpu: { inFlight: 2, program } } }), /pools.cpu.inFlight is 2, and pools.cpu.program.name is set/);
  render({ poolDefaults, evaluators: { program } });
});

// How many pods `helm --wait` and `--atomic` want to see ready, by the rule of
// Helm 3: all but those that a rolling update may take away, which are one at
// least where nothing may be made beyond the number.
function helmWaitsFor({ spec: { replicas, strategy } }) {
  if (strategy.type === 'Recreate') return replicas;
  const { maxSurge, maxUnavailable } = strategy.rollingUpdate;
  assert.equal(maxSurge, 0, 'there may be no GPU to spare');
  const away = String(maxUnavailable).endsWith('%')
    ? Math.floor(replicas * parseInt(maxUnavailable, 10) / 100) : maxUnavailable;
  return replicas - Math.min(replicas, Math.max(1, away));
}

test('helm waits for workers of every pool, and for evaluators', () => {
  const sizes = [0, 1, 2, 3, 5, 8, 100];
  const waitsFor = (maxUnavailable) => {
    const pools = Object.fromEntries(sizes.map((replicas) => [`p${replicas}`, { replicas }]));
    const objects = render({ pools: { cpu: null, ...pools }, poolDefaults: { maxUnavailable } });
    assert.equal(helmWaitsFor(find(objects, 'Deployment', '-evaluator')), 1);
    return sizes.map((size) => helmWaitsFor(find(objects, 'Deployment', `-worker-p${size}`)));
  };
  assert.deepEqual(waitsFor('25%'), [0, 1, 1, 2, 4, 6, 75]);
  assert.deepEqual(waitsFor('1%'), [0, 1, 1, 2, 4, 7, 99]);
  assert.deepEqual(waitsFor(1), [0, 1, 1, 2, 4, 7, 99]);
  // Who lets all go at once has all of them waited for.
  assert.deepEqual(waitsFor(5), [0, 1, 2, 3, 5, 3, 95]);
  assert.deepEqual(waitsFor('100%'), [0, 1, 2, 3, 5, 8, 100]);
  for (const values of Object.values(VALUE_SETS)) {
    for (const object of render(values).filter((o) => o.kind === 'Deployment' && o.spec.replicas > 0)) {
      assert.ok(helmWaitsFor(object) > 0, object.metadata.name);
    }
  }
});

test('a pool without GPUs, with labels and data', () => {
  const worker = find(render({ ...VALUE_SETS['names and labels'], ...VALUE_SETS['claims that are there'] }), 'Deployment', '-worker-cpu');
  const args = argsOf(worker);
  for (const arg of ['--device=cpu', '--pool=cpu', '--label=rack=7', '--data-root=/data']) assert.ok(args.includes(arg), arg);
  assert.ok(!args.some((arg) => arg.startsWith('--gpu')));
});

test('a pool has data of its own, or those of all', () => {
  const claim = { persistentVolumeClaim: { claimName: 'data' } };
  const nfs = { nfs: { server: 'filer', path: '/shapes' } };
  const volumeOf = (values, end) => podOf(find(render(values), 'Deployment', end)).spec.volumes.find((one) => one.name === 'data');
  const pools = { cpu: {}, near: { data: { volume: nfs } } };
  assert.deepEqual(volumeOf({ data: { volume: claim }, pools }, '-worker-cpu'), { name: 'data', ...claim });
  // Not both at once: a volume has one source.
  assert.deepEqual(volumeOf({ data: { volume: claim }, pools }, '-worker-near'), { name: 'data', ...nfs });
  assert.deepEqual(volumeOf({ poolDefaults: { data: { volume: claim } }, pools }, '-worker-near'), { name: 'data', ...nfs });
  assert.deepEqual(volumeOf({ poolDefaults: { data: { volume: claim } }, data: { volume: nfs } }, '-evaluator'), { name: 'data', ...claim });
  assert.equal(volumeOf({ pools }, '-worker-cpu'), undefined);
  const [near, cpu] = ['-worker-near', '-worker-cpu'].map((end) => find(render({ pools }), 'Deployment', end));
  assert.ok(argsOf(near).includes('--data-root=/data'));
  assert.ok(!argsOf(cpu).includes('--data-root=/data'));
  const program = { name: 'x', image: 'x:1' };
  const own = podOf(find(render({ pools: { near: { ...pools.near, program } } }), 'Deployment', '-worker-near')).spec;
  assert.ok(own.containers[1].volumeMounts.some((mount) => mount.mountPath === '/data' && mount.readOnly));
});

test('containers before the worker are restricted unless they say otherwise', () => {
  const own = { runAsUser: 0, runAsNonRoot: false, readOnlyRootFilesystem: false };
  const initContainers = [{ name: 'a', image: 'a:1' }, { name: 'b', image: 'b:1', securityContext: own }];
  const { spec } = podOf(find(render({ pools: { cpu: { initContainers } } }), 'Deployment', '-worker-cpu'));
  const restricted = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
  assert.deepEqual(spec.initContainers, [
    { name: 'a', image: 'a:1', securityContext: restricted },
    { name: 'b', image: 'b:1', securityContext: { ...restricted, ...own } },
  ]);
});

test('queues and schedulers of a cluster see pools', () => {
  const queue = 'kueue.x-k8s.io/queue-name';
  const objects = render({ pools: { cpu: {}, a: { schedulerName: 'volcano', deploymentLabels: { [queue]: 'vision' } } } });
  const a = find(objects, 'Deployment', '-worker-a');
  assert.equal(a.metadata.labels[queue], 'vision');
  assert.equal(a.metadata.labels['app.kubernetes.io/component'], 'worker');
  assert.equal(podOf(a).spec.schedulerName, 'volcano');
  // The selector never changes, or helm could not upgrade.
  assert.equal(a.spec.selector.matchLabels[queue], undefined);
  const cpu = find(objects, 'Deployment', '-worker-cpu');
  assert.equal(cpu.metadata.labels[queue], undefined);
  assert.equal(podOf(cpu).spec.schedulerName, undefined);
});

test('claims are kept as said', () => {
  const policy = (values) => render(values).filter((o) => o.kind === 'PersistentVolumeClaim')
    .map((o) => o.metadata.annotations?.['helm.sh/resource-policy']);
  assert.deepEqual(policy({}), ['keep', 'keep']);
  assert.deepEqual(policy(VALUE_SETS['claims of a class, not kept']), [undefined, undefined]);
  assert.deepEqual(policy(VALUE_SETS['nothing kept']), []);
  const classes = render(VALUE_SETS['claims of a class, not kept']).filter((o) => o.kind === 'PersistentVolumeClaim')
    .map((o) => o.spec.storageClassName);
  assert.deepEqual(classes.sort(), ['', 'fast']);
});

test('certificates by a hook of their own', () => {
  const objects = render({ tls: { coordinatorHosts: ['train.example.com'] } });
  const job = objects.find((o) => o.kind === 'Job' && o.metadata.annotations['helm.sh/hook'].includes('pre-install'));
  const args = argsOf(job);
  assert.ok(args.some((arg) => arg.startsWith('coordinator=coordinator/coordinator,') && arg.endsWith(',train.example.com')));
  assert.ok(args.includes('server=server/server,*.r-paceline-server.lab.svc'));
  const after = objects.find((o) => o.kind === 'Job' && o.metadata.annotations['helm.sh/hook'] === 'post-delete');
  assert.deepEqual(argsOf(after).slice(0, 2), ['certificate', 'remove-secrets']);
  const roles = objects.filter((o) => o.kind === 'Role');
  assert.deepEqual(roles.map((o) => o.rules[0].verbs), [['create'], ['create', 'list']]);
  // What cert-manager writes is no release's either.
  const managed = render(VALUE_SETS['cert-manager']);
  const [labels] = managed.filter((o) => o.kind === 'Certificate').map((o) => o.spec.secretTemplate.labels);
  for (const [key, value] of Object.entries(labels)) {
    assert.ok(argsOf(managed.find((o) => o.kind === 'Job')).includes(`--label=${key}=${value}`));
  }
  for (const object of render({ tls: { mode: 'disabled' } })) {
    assert.notEqual(object.metadata.labels['app.kubernetes.io/component'], 'certificates');
  }
});

test('without TLS that is said', () => {
  const objects = render({ tls: { mode: 'disabled' } });
  for (const [kind, end] of [['StatefulSet', '-coordinator'], ['StatefulSet', '-server'], ['Deployment', '-worker-cpu']]) {
    const args = argsOf(find(objects, kind, end));
    assert.ok(args.includes('--insecure-plaintext'));
    assert.ok(!args.some((arg) => arg.startsWith('--tls')));
  }
});

test('who may call whom', () => {
  const policies = render(VALUE_SETS['open to some']).filter((o) => o.kind === 'NetworkPolicy');
  assert.equal(policies.length, 3);
  for (const policy of policies) assert.deepEqual(policy.spec.policyTypes, ['Ingress']);
  const coordinator = policies.find((o) => o.metadata.name.endsWith('-coordinator'));
  assert.deepEqual(coordinator.spec.ingress[0].from.map((peer) => Object.keys(peer)[0]), ['podSelector', 'namespaceSelector']);
  assert.equal(render().find((o) => o.kind === 'NetworkPolicy' && o.metadata.name.endsWith('-coordinator')).spec.ingress[0].from, undefined);
});

test('rules, monitors and dashboards', () => {
  const objects = render(VALUE_SETS.watched);
  const rule = objects.find((o) => o.kind === 'PrometheusRule');
  const alerts = rule.spec.groups.flatMap((group) => group.rules).filter((one) => one.alert);
  assert.equal(alerts.length, 16);
  for (const alert of alerts) {
    assert.match(alert.annotations.runbook_url, /^https:\/\/example\.com\/docs\/runbooks\/.*\.md$/);
    assert.match(alert.annotations.summary, /\w/);
  }
  assert.ok(alerts.some((alert) => alert.annotations.summary.includes('{{ $labels.')), 'is left to Prometheus');
  const boards = objects.filter((o) => o.kind === 'ConfigMap' && o.metadata.labels.grafana_dashboard);
  assert.equal(boards.length, 4);
  for (const board of boards) {
    const [[name, text]] = Object.entries(board.data);
    assert.equal(JSON.parse(text).uid, `paceline-${name.replace('.json', '')}`);
  }
});

test('helm test creates a job and sees it end', () => {
  const pod = render().find((o) => o.kind === 'Pod');
  assert.equal(pod.metadata.annotations['helm.sh/hook'], 'test');
  const steps = [...pod.spec.initContainers, ...pod.spec.containers].map((c) => c.args.slice(0, 2).join(' '));
  assert.deepEqual(steps, ['job create', 'job wait', 'job describe', 'job delete']);
});

test('the version is the program\'s', () => {
  const chart = readFileSync(`${CHART}/Chart.yaml`, 'utf8');
  const project = readFileSync(`${process.env.PACELINE_ROOT}/CMakeLists.txt`, 'utf8');
  const version = /project\(paceline[^)]*VERSION ([0-9.]+)/s.exec(project)[1];
  assert.match(chart, new RegExp(`appVersion: "${version}"`));
  for (const [file, wanted] of [['Dockerfile.server', `ARG VERSION=${version}`], ['Dockerfile.worker', `ARG VERSION=${version}`],
    ['deploy/compose.yaml', `paceline/server:${version}}`], ['deploy/compose.yaml', `paceline/worker-cpu:${version}}`]]) {
    const text = readFileSync(`${process.env.PACELINE_ROOT}/${file}`, 'utf8');
    assert.ok(text.includes(wanted), `${file}: ${wanted}`);
    assert.equal(text.match(/ARG VERSION=/g)?.length, text.match(/^FROM scratch/gm)?.length, file);
  }
});

test('what is printed at the end can be pasted', () => {
  const plain = notes({ servers: { replicas: 1 }, pools: { cpu: { replicas: 1 } }, evaluators: { replicas: 1 } });
  assert.match(plain, /^- a coordinator\n- 1 parameter server\n- 1 worker in pool cpu\n- 1 evaluator\n/m);
  assert.match(plain, /port-forward service\/\S+-coordinator 7070 &\n/);
  assert.match(plain, /^ +paceline config import-kubernetes r -n lab\n/m);
  assert.match(plain, /^ +The port-forward ends with the coordinator's pod: start it again then\.$/m);
  const [, job] = /^ +echo '([^']*)' \| paceline job create -f -$/m.exec(plain);
  assert.deepEqual(parse(job), {
    name: 'first', spec: { model: 'lenet5', data: 'synthetic:shapes', workers: { max: 2 }, stop: { epochs: 2 } } });
  assert.doesNotMatch(plain, /deploy\/examples/);  // Not everybody has the sources.
  const scaled = notes({ pools: { a: { autoscaling: { enabled: true, maxReplicas: 1 } }, cpu: null } });
  assert.match(scaled, /^- 1 to 1 worker in pool a, as jobs ask for them\n/m);
  const two = notes({ coordinator: { replicas: 2 }, pools: { cpu: { replicas: 2 } }, tls: { mode: 'disabled' } });
  assert.match(two, /^- two coordinators, of which one leads\n- 2 parameter servers\n- 2 workers in pool cpu\n/m);
  assert.doesNotMatch(two, /--secret/);
  assert.match(two, /everybody who reaches the coordinator is an administrator/);
});
