import type { FastifyInstance } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { addPaths } from '../web/path.js'
import { withoutProviders } from '../web/without-providers.js'
import { readFormsToo } from './form-body.js'
import { showWithdrawal } from './show-withdrawal.js'
import { withdraw } from './withdraw.js'

/** In an app of their own, since nobody else reads forms. */
export function addBankRoutes(app: FastifyInstance, sandbox: Sandbox): void {
  app.register((bank, _options, done) => {
    readFormsToo(bank)
    addPaths(bank, [
      ['POST', '/sb/v1/withdraw', sandbox.partners === undefined ? withoutProviders() : withdraw(sandbox)],
      ['GET', '/sb/v1/withdrawals/:id(^[\\w-]+$)', showWithdrawal(sandbox)],
    ])
    done()
  })
}
