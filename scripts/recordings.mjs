/**
 * `npm run recordings`: makes the pictures of docs/guides/cli.md anew, from a real terminal, at a sandbox in which a payment has
 * got lost. It takes tmux.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { sandbox as startedSandbox } from './recordings/sandbox.mjs'
import { svgOf } from './recordings/svg.mjs'
import { terminal } from './recordings/terminal.mjs'
import { root } from './root.mjs'

const [columns, rows] = [80, 60]
const pictures = join(root, 'docs/guides/screens')
mkdirSync(pictures, { recursive: true })

const bin = mkdtempSync(join(tmpdir(), 'hapax-bin-'))
writeFileSync(join(bin, 'hapax'), `#!/bin/sh\nexec ${process.execPath} ${join(root, 'dist/cli/main.js')} "$@"\n`)
chmodSync(join(bin, 'hapax'), 0o755)

const sandbox = await startedSandbox()
const database = basename(sandbox.database)
const admin = `${sandbox.url}/admin`
const cwd = dirname(sandbox.database)
writeFileSync(join(cwd, 'openapi.json'), JSON.stringify(description()))
const screen = terminal({ columns, rows, path: bin, cwd, env: { ADMIN: admin } })

/**
 * @param {string} name
 * @param {string} shown
 */
function keep(name, shown) {
  writeFileSync(join(pictures, `${name}.svg`), svgOf(shown, columns, `hapax, ${name.replace('-', ' ')}`))
  console.log(`${name}\n${shown}\n`)
}

try {
  const charge = await lostPayment()
  keep('unknown-list', await screen.run('hapax unknown list $ADMIN'))
  keep('keys-show', await screen.run('hapax keys show $ADMIN acme order-41'))
  const settle = [
    'hapax unknown settle $ADMIN acme order-41 --landed \\',
    ` --result '{"status":"succeeded","id":"${charge}"}' \\`,
    ' --evidence "the charge is in the books of the processor" \\',
    ' --why "the customer asks"',
  ]
  await screen.type(settle.join('\n'), /\[y\/N\]/)
  keep('unknown-settle', await screen.press('y'))
  keep('audit', await screen.run(`hapax audit list $ADMIN; hapax audit verify ${database}`))
  keep('keys-find', await screen.run('hapax keys find $ADMIN --tenant acme --since 1h'))
  keep('stats', await screen.run('hapax stats $ADMIN'))
  keep('routes', await screen.run('hapax routes openapi.json --exempt "POST /login"; echo "exit code $?"'))
  keep('help', await screen.run('hapax unknown --help'))
} finally {
  screen.close()
  await sandbox.close()
  rmSync(bin, { recursive: true, force: true })
}

/** An API with a gap in it. */
function description() {
  const parameters = [{ in: 'header', name: 'Idempotency-Key' }]
  return {
    openapi: '3.1.0',
    paths: {
      '/orders': { post: { operationId: 'orders.create', parameters } },
      '/orders/{id}/pay': { post: { operationId: 'orders.pay' } },
      '/orders/{id}': { put: { operationId: 'orders.replace' } },
      '/login': { post: { operationId: 'login' } },
    },
  }
}

/** Some payments, and one whose answer got lost on the way, with a provider that nobody can ask any more. */
async function lostPayment() {
  const pay = (/** @type {string} */ key, amountCents = 450) => {
    const payment = { customerId: 'cus_1', amountCents, currency: 'USD' }
    return sandbox.ask('/payments', payment, { 'idempotency-key': key })
  }
  for (const order of ['order-38', 'order-39', 'order-40']) await pay(order)
  for (let again = 0; again < 3; again++) await pay('order-40')
  await pay('order-39', 900)
  await sandbox.ask('/_providers/faults', {
    provider: 'card',
    operation: 'charge',
    mode: 'timeout_after_effect',
    times: 1,
  })
  const paid = pay('order-41')
  for (let tries = 0; tries < 100; tries++) {
    const { entries } = await sandbox.ask('/_providers/ledger')
    const charged = entries.find((/** @type {{ key: string }} */ { key }) => key !== undefined && entries.length > 3)
    if (charged !== undefined) {
      await sandbox.outage()
      await paid
      return entries.at(-1).object
    }
    await wait(50)
  }
  throw new Error('the payment that is to get lost was never made')
}
