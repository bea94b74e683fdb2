import { type Answer, type Asks, ref, type System } from './described.js'
import type { Told } from './told.js'

export type Responses = Readonly<Record<string, object>>

/** What an operation may answer. Where the system and the guard both have something to say of a status, both are heard. */
export function responsesOf(told: Told, asks: Asks): Responses {
  const { system, described, guard, responses } = told
  const own = Object.entries(refusalsOf(told, asks)).map(([status, description]) => {
    const theirs = responses[nameIn(guard?.responses[status])] as { description: string } | undefined
    if (theirs === undefined) return [status, { description, content: errorContent(system) }]
    return [status, { ...theirs, description: `${description}\n\n${theirs.description}` }]
  })
  const answers = Object.entries(described.answers).map(([status, answer]) => [status, answerOf(told, answer)])
  return { ...guard?.responses, ...Object.fromEntries([...own, ...answers]) }
}

/** What goes wrong, besides what the guard finds wrong with keys. */
function refusalsOf({ route, described, guard }: Told, asks: Asks): Readonly<Record<string, string>> {
  const { body, paged, refusals = {} } = described
  const isAsked = body !== undefined || paged === true
  return {
    ...(isAsked && { 400: 'The request is not valid. Nothing is reserved, and nothing is stored.' }),
    ...(asks !== 'anybody' && { 401: 'The request does not say who is asking.' }),
    ...(route.includes('{id}') && { 404: "There is no such thing, or it is somebody else's." }),
    ...(guard === undefined && { default: 'Something else is wrong.' }),
    ...refusals,
  }
}

function answerOf({ guard }: Told, { means, schema, mediaType = 'application/json', located }: Answer): object {
  const location = { Location: { description: 'Where it is.', schema: { type: 'string', format: 'uri-reference' } } }
  const headers = { ...(located === true && location), ...guard?.['x-idempotency'].answer_headers }
  return {
    description: means,
    ...(Object.keys(headers).length > 0 && { headers }),
    content: { [mediaType]: { schema } },
  }
}

/** The last part of a reference. */
function nameIn(reference: { readonly $ref: string } | undefined): string {
  return reference?.$ref.split('/').at(-1) ?? ''
}

/** The schema of what goes wrong, and the media type that it comes in. */
function errorContent({ errors }: System): Readonly<Record<string, object>> {
  const problem = { 'application/problem+json': { schema: ref('Problem') } }
  const own = { 'application/json': { schema: ref(errors) } }
  switch (errors) {
    case 'Problem':
      return problem
    case 'StripeError':
    case 'MarketplaceError':
      return own
    // What the providers say is handed on as it is. What is wrong on the way to them, we say.
    case 'ProviderError':
      return { ...own, ...problem }
  }
}
