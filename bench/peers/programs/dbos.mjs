/** DBOS: the handler is a workflow, and the key is its id. It has no steps, since each would be one more write. */
import process from 'node:process'
import { DBOS } from '@dbos-inc/dbos-sdk'
import fastify from 'fastify'
import { pay } from './payment.mjs'
import { served } from './served.mjs'

const { url } = JSON.parse(process.argv[2] ?? '')
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: url,
  systemDatabasePoolSize: 32,
  logLevel: 'error',
  enableOTLP: false,
})
const workflow = DBOS.registerWorkflow(async (payment) => pay(payment), { name: 'payments.create' })
await DBOS.launch()

const app = fastify()
app.post('/payments', async ({ headers, body }, reply) => {
  const handle = await DBOS.startWorkflow(workflow, { workflowID: headers['idempotency-key'] })(body)
  return reply.code(201).send(await handle.getResult())
})
await app.listen({ port: 0, host: '127.0.0.1' })
served(app.server.address().port)
