import { createHash, randomBytes } from 'node:crypto'
import type { FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { endingSteps } from './ending-steps.js'
import { homeHtml } from './html.js'
import { marketplaceSteps } from './marketplace-steps.js'
import { bankSteps, notificationSteps, providerSteps } from './other-steps.js'
import { paymentSteps, recordedSteps } from './payment-steps.js'
import { rideSteps } from './ride-steps.js'
import { script } from './script.js'
import { startedWith } from './started-with.js'
import type { Place } from './steps.js'
import { style } from './style.js'
import { webhookSteps } from './webhook-steps.js'

const sections = [
  paymentSteps,
  marketplaceSteps,
  endingSteps,
  rideSteps,
  bankSteps,
  notificationSteps,
  webhookSteps,
  providerSteps,
]
/** What can be done where there is nobody to ask. */
const sectionsAlone = [recordedSteps]

const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  // Nothing but what is written here is run or shown.
  'Content-Security-Policy': `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none'; form-action 'none'`,
}

/** GET /: the first thing that people see. */
export function homePage(sandbox: Sandbox): RouteShorthandOptionsWithHandler {
  const shown = sandbox.partners === undefined ? sectionsAlone : sections
  const settings = startedWith(sandbox)
  return {
    async handler(request, reply) {
      const place = placeOf(request)
      const html = homeHtml(
        place,
        shown.map((section) => section(place)),
        settings,
      )
      return reply.headers(headers).send(html)
    },
  }
}

/** The address that the browser has used. It ends up in lines for a shell, so that only what is a host is taken. */
function placeOf({ headers: { host = '' }, protocol }: FastifyRequest): Place {
  const isHost = /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i.test(host)
  return { at: `${protocol}://${isHost ? host : '127.0.0.1:3000'}`, mark: randomBytes(3).toString('hex') }
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
