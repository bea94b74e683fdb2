import { type OpenApiOperation, openApiOf } from 'hapax'
import { bank } from '../bank/describe.js'
import { marketplace } from '../marketplace/describe.js'
import { money } from '../money/describe.js'
import { notifications } from '../notifications/describe.js'
import { payments } from '../payments/describe.js'
import { rides } from '../rides/describe.js'
import type { Sandbox } from '../sandbox.js'
import { about, providers } from '../web/describe.js'
import { webhooks } from '../webhooks/describe.js'
import { common } from './common.js'
import type { System } from './described.js'
import { operationOf } from './operation.js'

const systems: readonly System[] = [
  marketplace,
  payments,
  rides,
  bank,
  notifications,
  webhooks,
  money,
  about,
  providers,
]

/**
 * The whole API as OpenAPI 3.1: what each system says of its routes, and on each guarded one what Hapax says of its keys. No
 * route is listed here, so that there is nothing to forget.
 */
export function openApiDocument({ hapax, quick }: Sandbox) {
  const { components } = quick === undefined ? openApiOf(hapax) : openApiOf(hapax, quick)
  const { pathItems, schemas, responses, ...parts } = components
  const guards = (name: string | undefined): OpenApiOperation | undefined => pathItems[name ?? '']?.post
  const paths: Record<string, Record<string, object>> = {}
  for (const system of systems)
    for (const [route, described] of Object.entries(system.routes)) {
      const [method = '', path = ''] = route.split(' ')
      const guard = guards(described.guardedAs)
      const operation = operationOf({ system, route, described, guard, responses })
      paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
    }
  return {
    openapi: '3.1.1',
    info: {
      title: 'The sandbox of Hapax',
      version: '1',
      description:
        'A service in which every guarded request is safe to retry. Airtm, Trustless Work and Finastra are simulated, with ' +
        'no affiliation to these companies. No money moves.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: systems.map(({ name, about: description }) => ({ name, description })),
    paths,
    components: {
      ...parts,
      schemas: Object.assign({}, common.schemas, schemas, ...systems.map((system) => system.schemas ?? {})),
      responses,
      securitySchemes: common.securitySchemes,
    },
  }
}
