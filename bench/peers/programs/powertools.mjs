/** @aws-lambda-powertools/idempotency on Redis: a function that is made idempotent, with the key and the payload as its docs say. */
import process from 'node:process'
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache'
import { createClient } from '@redis/client'
import fastify from 'fastify'
import { pay } from './payment.mjs'
import { served } from './served.mjs'

const { url } = JSON.parse(process.argv[2] ?? '')
const client = await createClient({ url }).connect()
const config = new IdempotencyConfig({
  eventKeyJmesPath: 'key',
  throwOnNoIdempotencyKey: true,
  expiresAfterSeconds: 86_400,
})
// It asks how long a function may still run, and warns for each request where nobody says.
config.registerLambdaContext({ getRemainingTimeInMillis: () => 30_000 })
const guarded = makeIdempotent(async ({ payment }) => pay(payment), {
  persistenceStore: new CachePersistenceLayer({ client }),
  config,
})

const app = fastify()
app.post('/payments', async ({ headers, body }, reply) =>
  reply.code(201).send(await guarded({ key: headers['idempotency-key'], payment: body })),
)
await app.listen({ port: 0, host: '127.0.0.1' })
served(app.server.address().port)
