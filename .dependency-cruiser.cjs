/**
 * Who may import whom, as an allow-list: what is not named here fails the lint, and so does a part of `src` that has
 * no line. Everyone may import the kernel and itself; no line names another store, so no store imports one.
 */
const parts = {
  kernel: {},
  engine: { modules: ['buffer', 'crypto', 'events', 'rate-limiter-flexible'] },
  'stores/memory': { imports: ['engine'] },
  // How a record lies in a row of an SQL database: shared by those that have one.
  'stores/sql': { imports: ['engine'] },
  'stores/postgres': { imports: ['engine', 'stores/sql'], modules: ['buffer', 'crypto'] },
  'stores/redis': { imports: ['engine'], modules: ['buffer', 'crypto'] },
  'stores/sqlite': {
    imports: ['engine', 'stores/sql'],
    modules: ['libsql', 'crypto', 'fs', 'path', 'url', 'worker_threads'],
  },
  effects: { imports: ['engine'] },
  inbox: { imports: ['engine'], modules: ['buffer', 'crypto'] },
  // Whoever starts the workers of an engine starts those of its outbox, too.
  workers: { imports: ['engine', 'effects'] },
  http: { imports: ['engine'], modules: ['async_hooks', 'buffer', 'structured-headers', 'util', 'zlib'] },
  // Its writes are guarded as those of any application are.
  admin: { imports: ['engine', 'effects', 'http', 'adapters'] },
  telemetry: { imports: ['engine'] },
  // Nobody needs to have OpenTelemetry: what does is an entry point of its own.
  'telemetry/opentelemetry': { imports: ['engine', 'telemetry'], modules: ['@opentelemetry/api'] },
  adapters: { imports: ['http'], modules: ['@types/express', 'buffer', 'express', 'fastify', 'http', 'stream'] },
  client: {},
  // What only Node has is an entry point of its own.
  'client/node': { imports: ['client'], modules: ['crypto', 'fs', 'path'] },
  conformance: { imports: ['engine', 'http'], modules: ['assert', 'crypto', 'net', 'zlib'] },
  cli: {
    imports: ['engine', 'stores', 'effects', 'inbox', 'workers', 'http', 'admin', 'telemetry', 'client', 'conformance'],
    // The command line has no application to hand it a driver, so it takes the one that is installed.
    modules: [
      'commander',
      'crypto',
      'fs',
      'http',
      'ioredis',
      'os',
      'path',
      'pg',
      'postgres',
      'process',
      'readline',
      'redis',
      'stream',
      'url',
      'util',
    ],
  },
  // The entry point `hapax`. A store has an entry point of its own: who takes one does not load the others.
  index: { imports: ['engine', 'effects', 'inbox', 'workers', 'http'] },
}

/** A part is a folder, or a single file while it needs no more. */
const path = (name) => `^src/${name}(/|\\.ts$)`

function allowed([name, { imports = [], modules = [] }]) {
  const from = { path: path(name) }
  return [
    { from, to: { path: ['kernel', name, ...imports].map(path) } },
    ...modules.map((module) => ({ from, to: { path: `^(node:)?${module}(/|$)|(^|/)node_modules/${module}/` } })),
  ]
}

module.exports = {
  allowed: [
    ...Object.entries(parts).flatMap(allowed),
    // The simulation runs what is published. Its database keeps rows and locks, and asks the engine what becomes of them.
    { from: { path: '^test/simulation/' }, to: { path: '^test/simulation/' } },
    { from: { path: '^test/simulation/' }, to: { dependencyTypes: ['core'] } },
    {
      from: { path: '^test/simulation/' },
      to: { path: ['kernel', 'engine', 'http', 'inbox', 'effects', 'workers'].map(path) },
    },
    { from: { path: '^test/simulation/database/' }, to: { path: path('stores/postgres') } },
    // What is deployed or shown uses Hapax as its users do: by its published entry points.
    { from: { path: '^(examples|apps)/([^/]+)/' }, to: { path: '^$1/$2/' } },
    { from: { path: '^(examples|apps)/' }, to: { dependencyTypes: ['npm', 'core'] } },
    // A published name leads to the build; a relative path into it would be `local`.
    { from: { path: '^(examples|apps)/' }, to: { path: '^dist/', dependencyTypes: ['undetermined'] } },
  ],
  allowedSeverity: 'error',
  required: [
    {
      name: 'simulated-steps-are-the-engine-s',
      comment: 'What a step does to a record or an effect is not written a second time.',
      severity: 'error',
      module: { path: '^test/simulation/database/(record-deeds|record-batches|call-deeds)\\.ts$' },
      to: { path: '^src/engine/transitions\\.ts$' },
    },
    {
      name: 'simulated-effects-are-the-engine-s',
      severity: 'error',
      module: { path: '^test/simulation/database/(effects|effect-batches|outbox-deeds)\\.ts$' },
      to: { path: '^src/engine/effect-transitions\\.ts$' },
    },
    {
      name: 'simulated-testimonies-are-the-engine-s',
      severity: 'error',
      module: { path: '^test/simulation/database/forgetting\\.ts$' },
      to: { path: '^src/engine/reaped-testimony\\.ts$' },
    },
    {
      name: 'simulated-events-are-the-engine-s',
      severity: 'error',
      module: { path: '^test/simulation/database/inbox\\.ts$' },
      to: { path: '^src/engine/reaped-event\\.ts$' },
    },
    {
      name: 'simulated-phases-are-the-store-s',
      comment: 'In which order a transaction asks its server is not written a second time.',
      severity: 'error',
      module: { path: '^test/simulation/database/phase\\.ts$' },
      to: { path: '^src/stores/postgres/phase\\.ts$' },
    },
    {
      name: 'simulated-single-transactions-are-the-store-s',
      severity: 'error',
      module: { path: '^test/simulation/database/single\\.ts$' },
      to: { path: '^src/stores/postgres/single/single\\.ts$' },
    },
    {
      name: 'simulated-joined-transactions-are-the-store-s',
      severity: 'error',
      module: { path: '^test/simulation/database/single\\.ts$' },
      to: { path: '^src/stores/postgres/single/joined\\.ts$' },
    },
    {
      name: 'simulated-commits-are-the-store-s',
      severity: 'error',
      module: { path: '^test/simulation/database/committing\\.ts$' },
      to: { path: '^src/stores/postgres/in-one-commit\\.ts$' },
    },
    {
      name: 'simulated-turns-are-the-store-s',
      comment: 'Whose turn it is in an order is found out as PostgreSQL finds it out.',
      severity: 'error',
      module: { path: '^test/simulation/database/turns\\.ts$' },
      to: { path: '^src/stores/postgres/effects/turns\\.ts$' },
    },
    {
      name: 'simulated-order-of-steps-is-the-store-s',
      severity: 'error',
      module: { path: '^test/simulation/database/simulated-store\\.ts$' },
      to: { path: '^src/stores/postgres/steps\\.ts$' },
    },
    {
      name: 'simulated-group-commit-is-the-store-s',
      severity: 'error',
      module: { path: '^test/simulation/database/simulated-store\\.ts$' },
      to: { path: '^src/stores/postgres/batching-table\\.ts$' },
    },
  ],
  forbidden: [
    {
      name: 'simulation-has-no-step-of-its-own',
      comment: 'Who needs to know what follows what asks the transitions.',
      severity: 'error',
      from: { path: '^test/simulation/' },
      to: { path: '^src/engine/(state|next-record)\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'providers-know-nobody',
      comment: 'The simulated providers stand for the outside world: they share no code with the API or with Hapax.',
      severity: 'error',
      from: { path: '^examples/sandbox/src/providers/' },
      to: { pathNot: '^examples/sandbox/src/providers/|^(node:)?[a-z_/]+$|(^|/)node_modules/libsql/' },
    },
    {
      name: 'nobody-knows-providers',
      comment: 'The API reaches them over HTTP, and in no other way.',
      severity: 'error',
      from: { path: '^examples/sandbox/src/', pathNot: '^examples/sandbox/src/providers/' },
      to: { path: '^examples/sandbox/src/providers/' },
    },
    {
      name: 'client-runs-in-a-browser',
      comment: 'What only Node has is reached by the entry point `hapax/client/node` alone.',
      severity: 'error',
      from: { path: '^src/', pathNot: path('client/node') },
      to: { path: path('client/node') },
    },
    {
      name: 'telemetry-needs-nobody',
      comment: 'What needs OpenTelemetry is reached by the entry point `hapax/telemetry/opentelemetry` alone.',
      severity: 'error',
      from: { path: '^src/', pathNot: path('telemetry/opentelemetry') },
      to: { path: [path('telemetry/opentelemetry'), '@opentelemetry/'] },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'part-not-listed',
      comment: 'A file that imports nothing breaks no other rule, so an unlisted part is caught here.',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: Object.keys(parts).map(path) },
      to: {},
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: ['node_modules', '^dist/'] },
    // Of the tests only the simulation is held to anything; its own tests, and what runs the suite on it, are tests like others.
    exclude: {
      path: '^(examples|apps)/[^/]+/dist/|^scripts/|^test/(?!simulation/)|\\.test\\.ts$|^test/simulation/(suite|held-.*)\\.ts$',
    },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
  },
}
