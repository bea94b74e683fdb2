import { array, free, object, oneOf, type System, text, time } from '../openapi/described.js'

const html = { type: 'string' }
const anything = (means: string) => ({ 200: { means, schema: free } })

/** What the sandbox tells of itself. */
export const about: System = {
  name: 'About',
  about: 'What the sandbox is, and what it promises about keys. Made from what guards the routes.',
  asks: 'anybody',
  errors: 'Problem',
  schemas: {
    KeyStatus: object(
      {
        state: oneOf('in_progress', 'completed', 'failed_retryable', 'unknown', 'expired'),
        operation: text(255),
        attempt: { type: 'integer', minimum: 1 },
        created_at: time,
        completed_at: time,
        expires_at: time,
        status: { type: 'integer' },
        retry_after: { type: 'integer' },
      },
      ['completed_at', 'expires_at', 'status', 'retry_after'],
    ),
  },
  routes: {
    'GET /': {
      summary: 'A page for people',
      answers: { 200: { means: 'The page.', schema: html, mediaType: 'text/html' } },
    },
    'GET /openapi.json': { summary: 'This description', answers: anything('OpenAPI 3.1.') },
    'GET /idempotency/policy': {
      summary: 'Which keys are taken, what a retry gets, how long answers are kept',
      answers: anything('The policy of every guarded route.'),
    },
    'GET /idempotency/errors': {
      summary: 'What the `type` of a problem leads to',
      answers: { 200: { means: 'The page.', schema: html, mediaType: 'text/html' } },
    },
    'GET /metrics': {
      summary: 'What a Prometheus on the same machine scrapes',
      answers: { 200: { means: 'Its text format.', schema: html, mediaType: 'text/plain' } },
      refusals: { 403: 'Asked from another machine.' },
    },
    'GET /idempotency/status': {
      summary: 'How a key of yours stands',
      asks: 'token or basic',
      headers: { 'Idempotency-Key': 'The key.' },
      answers: { 200: { means: 'How it stands.', schema: { $ref: '#/components/schemas/KeyStatus' } } },
      refusals: { 404: 'Nobody has used it, or somebody else has.', 429: 'This is not made for polling.' },
    },
  },
}

const provider = oneOf('card', 'airtm', 'trustless-work', 'notifier', 'bank')
const fault = {
  provider,
  operation: text(100),
  mode: oneOf('timeout_before', 'timeout_after_effect', 'error_500_after_effect', 'reset', 'slow', 'decline'),
  times: { type: 'integer', minimum: 1, maximum: 1000 },
  ms: { type: 'integer', minimum: 1, maximum: 60_000 },
}
const narrowed = { provider: 'Of this provider only.', operation: 'Of this operation only.' }

/** The outside world, as far as it is a toy: see PROVIDERS.md. */
export const providers: System = {
  name: 'Providers',
  about: 'What the simulated providers have done, and which faults they shall have. Only a sandbox has this.',
  asks: 'anybody',
  errors: 'ProviderError',
  schemas: { Fault: object(fault, ['times', 'ms']) },
  routes: {
    'GET /_providers/ledger': {
      summary: 'What the providers have done: an entry is one effect',
      query: { ...narrowed, key: 'Under this downstream key only.' },
      answers: { 200: { means: 'All of it, in order.', schema: object({ entries: array(free) }) } },
    },
    'GET /_providers/faults': {
      summary: 'The faults that are still open',
      answers: { 200: { means: 'Each with its `times` left.', schema: object({ faults: array(free) }) } },
    },
    'POST /_providers/faults': {
      summary: 'Have the next requests of an operation fail',
      body: {
        schema: { $ref: '#/components/schemas/Fault' },
        example: { provider: 'card', operation: 'charge', mode: 'timeout_after_effect', times: 1 },
      },
      answers: { 201: { means: 'They will.', schema: free } },
    },
    'DELETE /_providers/faults': {
      summary: 'Have no more of them',
      query: narrowed,
      answers: { 200: { means: 'How many there were.', schema: object({ cleared: { type: 'integer' } }) } },
    },
    'GET /_providers/deliveries': {
      summary: 'The events that the partners tell of',
      query: { provider: narrowed.provider },
      answers: { 200: { means: 'Each with how its delivery stands.', schema: object({ deliveries: array(free) }) } },
    },
    'POST /_providers/deliveries': {
      summary: 'Have an event sent once more',
      body: { schema: object({ event: text(255) }) },
      answers: { 202: { means: 'It will be.', schema: free } },
      refusals: { 404: 'There is no such event.' },
    },
    'GET /_providers/settings': { summary: 'Who honours keys', answers: anything('Each provider.') },
    'PUT /_providers/settings': {
      summary: 'Have a provider honour keys, or not',
      body: { schema: object({ provider, honoursKeys: { type: 'boolean' } }) },
      answers: anything('It does so until its process ends.'),
    },
    'GET /_sandbox/process': {
      summary: 'Which process answers, for whoever wants to kill it',
      answers: {
        200: {
          means: 'This one.',
          schema: object({ pid: { type: 'integer' }, startedAt: time, restartedWhenKilled: { type: 'boolean' } }),
        },
      },
    },
  },
}
