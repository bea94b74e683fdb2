import type { FastifyInstance } from 'fastify'
import { type Inbox, inbox, standardWebhooks, stripeSignature } from 'hapax'
import { type Rows, rowsIn } from '../database/database.js'
import type { ProviderObject } from '../partners/provider.js'
import type { Sandbox } from '../sandbox.js'
import { bodyLimit } from '../web/web-app.js'
import { type PartnerEvent, partnerEventOf } from './event.js'

/** What is done with what a partner says: the rows that it moves, and what our call for it would have been told. */
export interface Ear {
  readonly hear: (rows: Rows, thing: ProviderObject) => Promise<void>
  readonly resultOf: (thing: ProviderObject) => unknown
}

/**
 * The webhooks of the partners. Each event is processed once, in one transaction with the rows that it moves, and is evidence
 * for the call whose key it names. Signatures are made of bytes, so that nobody may read the body before.
 */
export function addWebhooks(app: FastifyInstance, sandbox: Sandbox, ears: { airtm: Ear; trustlessWork: Ear }): void {
  const { webhookSecrets } = sandbox
  const airtm = standardWebhooks({ secrets: [webhookSecrets.airtm] })
  const trustlessWork = stripeSignature({ secrets: [webhookSecrets.trustlessWork] })
  const inboxes: readonly (readonly [string, Inbox])[] = [
    ['/webhooks/airtm', inboxFor(sandbox, 'airtm', airtm, ears.airtm)],
    ['/webhooks/trustless-work', inboxFor(sandbox, 'trustless_work', trustlessWork, ears.trustlessWork)],
  ]
  app.register((webhooks, _options, done) => {
    webhooks.removeAllContentTypeParsers()
    webhooks.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, read) => read(null, body))
    for (const [url, { receive }] of inboxes)
      webhooks.post(url, async (request, reply) => {
        const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const { status, headers, body } = await receive({ headers: request.headers, body: bytes })
        return reply.code(status).headers(headers).send(body)
      })
    done()
  })
}

function inboxFor({ hapax, database }: Sandbox, provider: string, verify: Verify, ear: Ear): Inbox {
  return inbox({
    hapax,
    provider,
    verify,
    parse: partnerEventOf,
    async handle({ event, tx, evidence }) {
      const { type, key, thing }: PartnerEvent = event
      await ear.hear(rowsIn(database, tx), thing)
      if (key === undefined) return
      evidence({ downstreamKey: key, says: 'landed', result: ear.resultOf(thing), why: `event ${type}` })
    },
  })
}

type Verify = Parameters<typeof inbox>[0]['verify']
