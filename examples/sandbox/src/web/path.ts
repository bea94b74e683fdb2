import type { RouteShorthandOptionsWithHandler } from 'fastify'

export type Path = readonly [method: Method | Method[], url: string, route: RouteShorthandOptionsWithHandler]
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
