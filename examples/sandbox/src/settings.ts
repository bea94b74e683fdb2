/** What the environment says, read once at start. A value that makes no sense refuses to start and says what to give. */
export interface Settings {
  /** 0 takes any free port. */
  readonly port: number
  readonly host: string
  readonly database: DatabaseSettings
  /** Holds every payment back inside its handler, so that a person or a test can meet one that still runs. */
  readonly delayMs: number
  /** How long a crash locks a key. */
  readonly lease: `${number}s`
  /** What one tenant may take up: new keys in a second on each node, and keys that it holds. */
  readonly quotas: { readonly newKeysPerSecond: number; readonly activeKeys: number }
  /** Which keys are taken: any, none that anybody could hit on, or UUIDs alone. */
  readonly keys: 'any' | 'unguessable' | 'uuid'
  /** Whose a key is: its tenant's, or that of the one token which it came with. */
  readonly keyOwner: 'tenant' | 'credential'
  /** Whether a payment has to say when it was first sent, so that one which comes too late is refused. */
  readonly firstSent: 'ignored' | 'required'
  /** What is published about the keys of payments. */
  readonly paymentsProfile: 'ietf' | 'boundary'
  /** By what the bank tells two requests with one key apart. */
  readonly bankCompares: 'fields' | 'digest'
  /** For how long a node gives an answer again without asking its database. */
  readonly replayCache: 'off' | { readonly maxAge: `${number}s` }
  /** Where the keys of notifications are kept, and what all nodes share of recent answers. */
  readonly redis: RedisSettings
  /** Where the simulated providers are; `undefined` where there are none. */
  readonly providersUrl: string | undefined
  /** What the partners sign their webhooks with. */
  readonly webhookSecrets: { readonly airtm: string; readonly trustlessWork: string }
}

export type DatabaseSettings =
  | { readonly kind: 'sqlite'; readonly dataDir: string }
  | { readonly kind: 'postgres'; readonly url: string }

export interface RedisSettings {
  /** `undefined` where nothing is kept there. */
  readonly url: string | undefined
  /** A notification that is sent twice is a nuisance and no loss, so that its key may lie where one may be forgotten. */
  readonly notificationKeys: 'database' | 'redis'
  readonly sharedReplays: 'off' | 'redis'
}

/** A reason not to start. Its message is shown alone on a line and says what to do. */
export class StartRefused extends Error {}

export function settingsFrom(environment: Readonly<Record<string, string | undefined>>): Settings {
  const text = (name: string, otherwise: string) => environment[name] || otherwise
  const wholeNumber = (name: string, otherwise: number, least: number, most: number): number => {
    const given = text(name, String(otherwise))
    const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
    if (value >= least && value <= most) return value
    throw new StartRefused(`${name} is ${JSON.stringify(given)}; give a whole number from ${least} to ${most}.`)
  }
  /** The first of them, where nothing is said. */
  const oneOf = <T extends string>(name: string, ...values: readonly [T, ...T[]]): T => {
    const given = text(name, values[0])
    const value = values.find((one) => one === given)
    if (value !== undefined) return value
    throw new StartRefused(`${name} is ${JSON.stringify(given)}; give ${values.join(' or ')}.`)
  }
  return {
    port: wholeNumber('PORT', 3000, 0, 65_535),
    host: text('HOST', '127.0.0.1'),
    database: databaseFrom(text('DATABASE_URL', ''), text('HAPAX_DATA_DIR', '.hapax')),
    delayMs: wholeNumber('SANDBOX_DELAY_MS', 0, 0, 60_000),
    lease: `${wholeNumber('SANDBOX_LEASE_SECONDS', 30, 1, 300)}s`,
    quotas: {
      newKeysPerSecond: wholeNumber('SANDBOX_NEW_KEYS_PER_SECOND', 1_000, 1, 100_000),
      activeKeys: wholeNumber('SANDBOX_ACTIVE_KEYS', 1_000_000, 1, 100_000_000),
    },
    keys: oneOf('SANDBOX_KEYS', 'any', 'unguessable', 'uuid'),
    keyOwner: oneOf('SANDBOX_KEY_OWNER', 'tenant', 'credential'),
    firstSent: oneOf('SANDBOX_FIRST_SENT', 'ignored', 'required'),
    paymentsProfile: oneOf('SANDBOX_PAYMENTS_PROFILE', 'ietf', 'boundary'),
    bankCompares: oneOf('SANDBOX_BANK_COMPARES', 'fields', 'digest'),
    replayCache: replayCacheFrom(wholeNumber('SANDBOX_REPLAY_SECONDS', 5, 0, 60)),
    redis: redisFrom(text('REDIS_URL', ''), {
      notificationKeys: oneOf('SANDBOX_NOTIFICATION_KEYS', 'database', 'redis'),
      sharedReplays: oneOf('SANDBOX_SHARED_REPLAYS', 'off', 'redis'),
    }),
    providersUrl: providersUrlFrom(text('HAPAX_PROVIDERS_URL', '')),
    webhookSecrets: {
      airtm: text('AIRTM_WEBHOOK_SECRET', 'whsec_c2FuZGJveC1haXJ0bS13ZWJob29rLXNlY3JldA=='),
      trustlessWork: text('TRUSTLESS_WORK_WEBHOOK_SECRET', 'whsec_sandbox_trustless_work'),
    },
  }
}

function replayCacheFrom(seconds: number): Settings['replayCache'] {
  return seconds === 0 ? 'off' : { maxAge: `${seconds}s` }
}

/** A URL holds a password, so that nothing of it is shown. */
function redisFrom(url: string, uses: Omit<RedisSettings, 'url'>): RedisSettings {
  const isUsed = uses.notificationKeys === 'redis' || uses.sharedReplays === 'redis'
  if (!isUsed) return { ...uses, url: undefined }
  if (URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol)) return { ...uses, url }
  throw new StartRefused(
    `REDIS_URL is ${url === '' ? 'not given' : 'no such address'}; give redis://user:password@host:port, or keep nothing in Redis.`,
  )
}

function providersUrlFrom(url: string): string | undefined {
  if (url === '') return undefined
  if (URL.canParse(url) && new URL(url).protocol === 'http:') return url
  throw new StartRefused(
    'HAPAX_PROVIDERS_URL is no http:// address; give that of providers that run, or leave it out for your own.',
  )
}

/** Nothing of it but its scheme is shown, either. */
function databaseFrom(url: string, dataDir: string): DatabaseSettings {
  if (url === '') return { kind: 'sqlite', dataDir }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  if (scheme === 'postgres' || scheme === 'postgresql') return { kind: 'postgres', url }
  const what = scheme === undefined ? 'is no URL' : `has the scheme "${scheme}:"`
  throw new StartRefused(
    `DATABASE_URL ${what}; give postgres://user:password@host:port/database, or leave it out for SQLite.`,
  )
}
