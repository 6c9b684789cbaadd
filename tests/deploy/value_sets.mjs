// Ways to install the chart, by name.
const MONITORING = {
  podMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, runbookUrlPrefix: 'https://example.com/' },
  dashboards: { enabled: true, annotations: { grafana_folder: 'paceline' } },
};

const POD_FIELDS = {
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] } } },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
  priorityClassName: 'high',
  podAnnotations: { note: 'pod' },
  podLabels: { team: 'vision' },
  extraEnv: [{ name: 'A', value: '1' }],
  extraEnvFrom: [{ configMapRef: { name: 'more' } }],
  extraArgs: ['--low-priority'],
  extraVolumes: [{ name: 'more', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
};

// Of pools and evaluators alone.
const WORKER_FIELDS = {
  schedulerName: 'volcano',
  runtimeClassName: 'nvidia',
  deploymentLabels: { 'kueue.x-k8s.io/queue-name': 'vision' },
  initContainers: [{
    name: 'fetch', image: 'registry.lab/fetch:1', args: ['s3://lab/shapes', '/data'],
    resources: { limits: { memory: '1Gi' } }, volumeMounts: [{ name: 'data', mountPath: '/data' }],
  }],
  data: { volume: { emptyDir: { sizeLimit: '100Gi' } } },
};

export const VALUE_SETS = {
  defaults: {},
  'GPUs of three generations': {
    pools: {
      cpu: null,
      a100: { replicas: 4, gpu: { count: 1 }, nodeSelector: { 'nvidia.com/gpu.product': 'NVIDIA-A100-SXM4-40GB' } },
      v100: { replicas: 2, gpu: { count: 1, memoryFraction: 0.5 }, runtimeClassName: 'nvidia' },
      mig: { replicas: 8, gpu: { count: 1, resourceName: 'nvidia.com/mig-1g.5gb' } },
    },
  },
  'programs of one\'s own': {
    pools: {
      a100: {
        replicas: 4, gpu: { count: 1 }, nodeSelector: { 'nvidia.com/gpu.product': 'NVIDIA-A100-SXM4-40GB' },
        program: {
          name: 'resnet-cifar', image: 'registry.lab/resnet:7', command: ['python3', '/app/train.py'], args: ['--fast'],
          env: [{ name: 'OMP_NUM_THREADS', value: '4' }], envFrom: [{ secretRef: { name: 'tracking' } }],
          volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }], shmSize: '8Gi', weightsSize: '1Gi',
        },
        resources: { requests: { cpu: '4', memory: '16Gi' }, limits: { memory: '16Gi' } },
        extraVolumes: [{ name: 'scratch', emptyDir: {} }], extraArgs: ['--low-priority'],
      },
      laptop: { program: { name: 'lm', image: 'lm:1', agentResources: { limits: { memory: '2Gi' } } } },
    },
    evaluators: { image: 'cpu', gpu: { count: 1 }, program: { name: 'resnet-cifar', image: 'registry.lab/resnet:7' } },
    data: { volume: { persistentVolumeClaim: { claimName: 'training-data', readOnly: true } } },
  },
  'everything said of every pod': {
    coordinator: POD_FIELDS, servers: POD_FIELDS, evaluators: { replicas: 2 },
    poolDefaults: { ...POD_FIELDS, ...WORKER_FIELDS }, data: { volume: { persistentVolumeClaim: { claimName: 'data' } } },
  },
  'another registry, digests, secrets': {
    global: { imageRegistry: 'registry.example.com/', imagePullSecrets: ['pull'] },
    images: { server: { digest: `sha256:${'0'.repeat(64)}` }, worker: { tag: '9' }, pullPolicy: 'Always' },
  },
  'certificates and tokens of one\'s own': {
    tls: { mode: 'existingSecrets', existingSecrets: { coordinator: 'c', server: 's', worker: 'w', admin: 'a' } },
    tokens: { existingSecret: 't' },
  },
  'cert-manager': {
    tls: { mode: 'certManager', certManager: { issuerRef: { name: 'ca' } },
      coordinatorHosts: ['train.example.com', '10.0.0.2'] },
  },
  'no TLS': { tls: { mode: 'disabled' } },
  'nothing kept': { coordinator: { persistence: { enabled: false } }, checkpoints: { enabled: false } },
  'claims that are there': {
    coordinator: { persistence: { existingClaim: 'jobs' } }, checkpoints: { existingClaim: 'nfs' },
    data: { volume: { persistentVolumeClaim: { claimName: 'data' } } },
  },
  'a bucket': {
    checkpoints: { s3: { path: 's3://models/runs', endpoint: 'https://minio.lab:9000', region: 'eu-west-1', existingSecret: 'bucket' } },
  },
  'a bucket by a web identity, two coordinators': {
    coordinator: { replicas: 2 }, checkpoints: { s3: { path: 's3://models' } },
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/paceline' } },
  },
  'claims of a class, not kept': {
    coordinator: { persistence: { storageClass: 'fast', keep: false } },
    checkpoints: { storageClass: '-', keep: false, accessModes: ['ReadWriteOnce'] },
  },
  'watched': { metrics: MONITORING },
  'scaled by demand': { pools: { cpu: { autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 20 } } } },
  'scaled to zero': {
    pools: {
      cpu: { autoscaling: { keda: { enabled: true, serverAddress: 'http://prometheus.monitoring:9090', maxReplicas: 20 } } },
      cloud: { autoscaling: { keda: {
        enabled: true, serverAddress: 'https://prometheus.example.com', minReplicas: 1, pollingInterval: 15, cooldownPeriod: 600,
        query: `sum(wanted{pool="a100",zone='b'})`, triggerMetadata: { authModes: 'bearer' }, authentication: 'prometheus',
      } } },
    },
  },
  'two coordinators': { coordinator: { replicas: 2 } },
  'two coordinators, of one\'s own accounts and claims': {
    coordinator: { ...POD_FIELDS, replicas: 2, persistence: { existingClaim: 'jobs', existingSecondClaim: 'more' } },
    serviceAccount: { create: false, name: 'mine' }, rbac: { create: false },
    tls: { mode: 'certManager', certManager: { issuerRef: { name: 'ca' } } },
  },
  'in an umbrella chart, IPv6': { enabled: true, global: { other: 1 }, listenHost: '[::]' },
  'a load balancer': {
    coordinator: { service: { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0/8'], externalTrafficPolicy: 'Local' } },
    hooks: { nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }], podAnnotations: { c: 'd' } },
  },
  'behind a gateway': {
    tokens: { existingSecret: 't' },
    coordinator: { grpcRoute: {
      enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['train.example.com', '*.lab.example.com'], annotations: { a: 'b' },
    } },
    extraObjects: [{
      apiVersion: 'gateway.networking.k8s.io/v1', kind: 'BackendTLSPolicy', metadata: { name: '{{ .Release.Name }}-more' },
      spec: {
        targetRefs: [{ group: '', kind: 'Service', name: '{{ include "paceline.fullname" . }}-coordinator', sectionName: 'grpc' }],
        validation: {
          caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'paceline-ca' }],
          hostname: '{{ include "paceline.coordinatorHost" . }}',
        },
      },
    }],
  },
  'behind a gateway, no TLS': {
    tls: { mode: 'disabled' }, coordinator: { grpcRoute: { enabled: true, parentRefs: [{ name: 'inner' }] } },
  },
  'open to some': {
    networkPolicy: { clients: [{ namespaceSelector: { matchLabels: { team: 'vision' } } }],
      scrapers: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }] },
    coordinator: { service: { type: 'NodePort', nodePort: 30707 } },
  },
  'no policy, no accounts, no budgets': {
    networkPolicy: { enabled: false }, rbac: { create: false }, serviceAccount: { create: false },
    coordinator: { podDisruptionBudget: { enabled: false } }, servers: { podDisruptionBudget: { enabled: false } },
  },
  'names and labels': {
    fullnameOverride: 'training', commonLabels: { team: 'vision' }, commonAnnotations: { note: 'all' },
    pools: { cpu: { labels: { rack: '7' }, podDisruptionBudget: { enabled: true, maxUnavailable: '20%' } } },
  },
  'objects of one\'s own': {
    extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' }, data: { a: 'b' } }],
  },
};

// What cannot be, and a part of the sentence that says so.
export const WRONG_VALUES = [
  [{ replicas: 3 }, 'Additional property replicas is not allowed'],
  [{ servers: { replica: 3 } }, 'Additional property replica is not allowed'],
  [{ servers: { replicas: '3' } }, 'servers.replicas: Invalid type. Expected: integer'],
  [{ servers: { replicas: -1 } }, 'servers.replicas: Must be greater than or equal to 0'],
  [{ pools: { 'Big GPUs': {} } }, 'Additional property Big GPUs is not allowed'],
  [{ pools: { a: { gpus: 1 } } }, 'Additional property gpus is not allowed'],
  [{ pools: { a: { gpu: { resourceName: 'gpu' } } } }, 'gpu.resourceName: Does not match pattern'],
  [{ pools: { a: { gpu: { memoryFraction: 2 } } } }, 'gpu.memoryFraction: Must be less than or equal to 1'],
  [{ pools: { a: { gpu: { count: 1, memoryFraction: 0 } } } }, 'a worker needs some memory'],
  [{ pools: { a: { image: 'cpu', gpu: { count: 1 } } } }, 'the CPU image has no use for GPUs'],
  [{ pools: { a: { program: { name: 'resnet' } } } }, 'pools.a.program.image is missing'],
  [{ evaluators: { program: { image: 'resnet:7' } } }, 'evaluators.program.name is missing'],
  [{ pools: { a: { program: { name: '-x', image: 'i:1' } } } }, 'program.name: Does not match pattern'],
  [{ pools: { a: { program: { name: 'x', image: 'i:1', weightsSize: '1.5Gi' } } } }, 'program.weightsSize: Does not match pattern'],
  [{ pools: { a: { program: { name: 'x', image: 'i:1', command: 'train' } } } }, 'program.command: Invalid type. Expected: array'],
  [{ pools: { a: { program: { name: 'x', image: 'i:1', gpus: 1 } } } }, 'Additional property gpus is not allowed'],
  [{ pools: { a: { image: 'cuda', program: { name: 'x', image: 'i:1' } } } }, 'pools.a.image is cuda and pools.a.program.name is x'],
  [{ pools: { a: { program: { name: 'x', image: 'i:1', agentResources: { limits: { memory: '1.5Gi' } } } } } },
    'pools.a.program.agentResources.limits.memory is 1.5Gi: want Mi or Gi'],
  [{ pools: { a: { data: { claim: 'x' } } } }, 'Additional property claim is not allowed'],
  [{ pools: { a: { initContainers: { name: 'x' } } } }, 'initContainers: Invalid type. Expected: array'],
  [{ pools: { a: { schedulerName: 1 } } }, 'schedulerName: Invalid type. Expected: string'],
  [{ pools: { a: { deploymentLabels: { 'paceline.dev/pool': 'b' } } } }, 'Property name'],
  [{ pools: { a: { autoscaling: { minReplicas: 9 } } } }, 'minReplicas is more than maxReplicas'],
  [{ pools: { a: { autoscaling: { keda: { enabled: true } } } } }, 'pools.a.autoscaling.keda.serverAddress is missing'],
  [{ pools: { a: { autoscaling: { enabled: true, keda: { enabled: true, serverAddress: 'http://p' } } } } },
    'pools.a.autoscaling.enabled and pools.a.autoscaling.keda.enabled are both true'],
  [{ pools: { a: { autoscaling: { keda: { enabled: true, serverAddress: 'http://p', minReplicas: 9 } } } } },
    'pools.a.autoscaling.keda.minReplicas is more than maxReplicas'],
  [{ pools: { a: { autoscaling: { keda: { serverAddress: 'prometheus:9090' } } } } }, 'serverAddress: Does not match pattern'],
  [{ pools: { a: { autoscaling: { keda: { triggerMetadata: { threshold: 2 } } } } } }, 'Expected: string, given: integer'],
  [{ pools: { a: { maxUnavailable: 0 } } }, 'pools.a.maxUnavailable is 0: no worker could ever be replaced'],
  [{ evaluators: { maxUnavailable: '0%' } }, 'evaluators.maxUnavailable is 0%: no worker'],
  [{ pools: { a: { grace: '30s' } } }, 'pools.a.terminationGracePeriodSeconds is 30, which is not 10 s longer than'],
  [{ servers: { grace: '60s', terminationGracePeriodSeconds: 69 } }, 'servers.terminationGracePeriodSeconds is 69'],
  [{ coordinator: { grace: '5m' } }, 'coordinator.terminationGracePeriodSeconds is 75, which is not 10 s longer than'],
  [{ coordinator: { lease: '10' } }, 'coordinator.lease: Does not match pattern'],
  [{ coordinator: { replicas: 3 } }, 'coordinator.replicas: Must be less than or equal to 2'],
  [{ coordinator: { port: 70000 } }, 'coordinator.port: Must be less than or equal to 65535'],
  [{ coordinator: { quota: { parameterBytes: 'many' } } }, 'quota.parameterBytes: Does not match pattern'],
  [{ coordinator: { service: { type: 'External' } } }, 'service.type must be one of the following'],
  [{ coordinator: { grpcRoute: { enabled: true } } }, 'coordinator.grpcRoute.parentRefs is missing'],
  [{ coordinator: { grpcRoute: { enabled: true, parentRefs: [{ name: 'g' }] } } }, 'grpcRoute.enabled needs tokens.existingSecret'],
  [{ coordinator: { grpcRoute: { hostnames: ['https://a.b'] } } }, 'grpcRoute.hostnames.0: Does not match pattern'],
  [{ metrics: { port: 7071 } }, 'metrics.port and servers.port are both 7071'],
  [{ images: { server: { digest: 'latest' } } }, 'images.server.digest: Does not match pattern'],
  [{ tls: { mode: 'none' } }, 'tls.mode must be one of the following'],
  [{ tls: { mode: 'existingSecrets' } }, 'is missing'],
  [{ tls: { mode: 'certManager' } }, 'tls.certManager.issuerRef.name is missing'],
  [{ tls: { selfSigned: { days: 30 } } }, 'renewBeforeDays must be less than'],
  [{ checkpoints: { accessModes: ['ReadWriteOncePod'] } }, 'checkpoints.accessModes.0: Does not match pattern'],
  [{ commonLabels: { 'app.kubernetes.io/name': 'x' } }, 'Property name'],
  [{ poolDefaults: { podAnnotations: { scrape: true } } }, 'Expected: string, given: boolean'],
  [{ pools: { a: { labels: { rack: 7 } } } }, 'Expected: string, given: integer'],
  [{ evaluators: { autoscaling: { enabled: true } } }, 'Additional property autoscaling is not allowed'],
  [{ tls: { mode: 'disabled' }, tokens: { existingSecret: 't' } }, 'tokens.existingSecret needs TLS'],
  [{ tls: { coordinatorHosts: ['a*.b'] } }, 'tls.coordinatorHosts.0: Does not match pattern'],
  [{ metrics: { prometheusRule: { runbookUrlPrefix: 'https://example.com' } } }, 'runbookUrlPrefix: Does not match pattern'],
  [{ checkpoints: { accessModes: ['Shared'] } }, 'checkpoints.accessModes.0: Does not match pattern'],
  [{ checkpoints: { s3: { path: '/models' } } }, 'checkpoints.s3.path: Does not match pattern'],
  [{ checkpoints: { s3: { path: 's3://models//a' } } }, 'checkpoints.s3.path: Does not match pattern'],
  [{ checkpoints: { s3: { endpoint: 'minio:9000' } } }, 'checkpoints.s3.endpoint: Does not match pattern'],
  [{ checkpoints: { s3: { existingSecret: 'bucket' } } }, 'checkpoints.s3.path is not: name the bucket'],
  [{ checkpoints: { existingClaim: 'nfs', s3: { path: 's3://models' } } }, 'are both set'],
  [{ fullnameOverride: 'x'.repeat(25) }, 'fullnameOverride: Does not match pattern'],
];
