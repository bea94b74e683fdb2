import { rowsIn, rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { newId } from '../web/ids.js'
import { guarded, inPhases, type Route } from './guarding.js'
import { heard, refusedReply } from './refusals.js'
import { requireUsers, type TopupRequest, topupRequestOf } from './requests.js'
import { changeTopup, insertTopup, shownTopup } from './topups.js'

interface Input extends TopupRequest {
  readonly tenant: string
}

/** POST /topups: asks Airtm for money, and answers where its owner confirms that. Airtm tells by a webhook when it is there. */
export function createTopup(sandbox: Sandbox, { airtm }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '24h', compared: ['user_id', 'amount', 'currency'] })
  const operation = hapax.operation('topups.create', options, async (work, input: Input) => {
    const reference = await work.transaction('topup_created', async ({ tx }) => {
      const id = newId('top')
      await insertTopup(rowsIn(database, tx), { ...input, id })
      return id
    })
    const { amount, currency } = input
    const keep = (key: string) => changeTopup(rowsOf(database), reference, { partner_key: key })
    const payin = await heard(work.call('payin_created', airtm.payin({ amount, currency, reference }, keep)))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (payin.kind === 'refused') {
        await changeTopup(rows, reference, { status: 'FAILED' })
        return refusedReply(payin.refusal)
      }
      const { id, confirmation_uri } = payin.result
      const topup = await changeTopup(rows, reference, { partner_id: id, confirmation_uri })
      // What was created is pending, also where the webhook that confirms it was quicker than this.
      const body = shownTopup({ ...topup, status: 'PENDING' })
      return { status: 201, headers: { Location: `/topups/${reference}` }, body }
    })
  })
  return guarded(sandbox, operation, {
    async read({ tenant, body }) {
      const asked = topupRequestOf(body)
      await requireUsers(sandbox, tenant, asked.userId)
      return { tenant, ...asked }
    },
  })
}
