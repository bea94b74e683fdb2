import type { FastifyRequest } from 'fastify'
import { type KeyRules, keyFormats, type ScopeParts } from 'hapax'
import type { Settings } from '../settings.js'
import { bodyLimit } from './web-app.js'

/** What every guarded route of the sandbox says of its keys, beside what its profile says. */
export function everyRoute(settings: Pick<Settings, 'keys' | 'keyOwner'>) {
  return { scope: ownerOf(settings), keyRules: keyRulesOf(settings), methods: ['POST'], bodyLimit } as const
}

/** A key belongs to whoever the token says is asking, never to anything that the request says about itself. */
export function ownerOf({ keyOwner }: Pick<Settings, 'keyOwner'>): (request: FastifyRequest) => ScopeParts {
  switch (keyOwner) {
    case 'tenant':
      return ({ tenant }) => ({ tenant })
    case 'credential':
      return ({ tenant, credential }) => ({ tenant, credential })
  }
}

/** What a UUID made at random has for certain, and `1`, `test` and `00000000` have not. */
const minVariety = 8

export function keyRulesOf({ keys }: Pick<Settings, 'keys'>): KeyRules {
  switch (keys) {
    case 'any':
      return {}
    case 'unguessable':
      return { minVariety }
    case 'uuid':
      return { format: keyFormats.uuid }
  }
}
