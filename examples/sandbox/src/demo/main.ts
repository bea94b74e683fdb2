import { parseArgs } from 'node:util'
import { clientOf } from './client.js'
import { narrator } from './narrator.js'
import type { Scene } from './scene.js'
import { doubleClick } from './scenes/double-click.js'
import { killedRide } from './scenes/killed-ride.js'
import { lostResponse } from './scenes/lost-response.js'
import { mismatch } from './scenes/mismatch.js'
import { twoTenants } from './scenes/two-tenants.js'
import { unknownTopup } from './scenes/unknown-topup.js'
import { openStage, type Stage } from './stage.js'

const help = `npm run demo [-- --fast]

Shows in about a minute what Hapax promises, on a sandbox of its own that is gone afterwards. Each claim is checked against
the ledgers of the simulated providers. Ends with 0 when all of it was so, with 1 when something was not.

  --fast   no pauses for reading
  --help   this text

HAPAX_PROVIDERS_URL takes providers that run already, in place of own ones. NO_COLOR leaves the colours out.`

const scenes: readonly Scene[] = [doubleClick, lostResponse, mismatch, twoTenants, killedRide, unknownTopup]

let opened: Stage | undefined

async function demo(): Promise<number> {
  const { values } = parseArgs({ options: { fast: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })
  if (values.help === true) {
    console.log(help)
    return 0
  }
  const colours = process.stdout.isTTY && !process.env.NO_COLOR ? 'on' : 'off'
  const told = narrator({ pace: values.fast === true ? 'fast' : 'for reading', colours }, console.log)
  console.log('A sandbox is started. Airtm and all other providers are simulated; no money moves.')
  const stage = await openStage()
  opened = stage
  try {
    const play = { stage, client: clientOf(stage), narrator: told }
    for (const scene of scenes) await scene(play)
    await told.scene('In the end', 'The double-entry ledger of each tenant.')
    for (const tenant of ['acme', 'globex'])
      await told.check(
        `${tenant}: the accounts sum to zero`,
        (await play.client.get('/ledger', `ohk_test_${tenant}`)).json.sum,
        '0.00',
      )
  } finally {
    await stage.end()
  }
  const isSo = told.untrue === 0
  console.log(isSo ? `\nAll ${told.checked} claims are so.` : `\n${told.untrue} of ${told.checked} claims are not so.`)
  return isSo ? 0 : 1
}

/** Whoever has seen enough leaves nothing behind either. */
let interruptedWith: number | undefined
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => {
    interruptedWith = code
    void (opened?.end() ?? Promise.resolve()).finally(() => process.exit(code))
  })

demo().then(
  (code) => process.exit(interruptedWith ?? code),
  (error: unknown) => {
    if (interruptedWith !== undefined) process.exit(interruptedWith)
    console.error('the demo broke off:', error instanceof Error ? error.message : error)
    process.exit(1)
  },
)
