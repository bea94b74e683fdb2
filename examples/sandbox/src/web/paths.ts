import type { RouteShorthandOptionsWithHandler } from 'fastify'

/** A path of the sandbox, one of its methods, and what is done there. */
export type Path = readonly [method: Method | Method[], url: string, route: RouteShorthandOptionsWithHandler]

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
