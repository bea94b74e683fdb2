import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { prometheusText } from 'hapax/telemetry'
import type { Sandbox } from '../sandbox.js'
import { refuseOthers } from './loopback.js'

/** What a Prometheus on this machine scrapes. Nobody else is told how busy the sandbox is. */
export function metricsPage({ telemetry }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: refuseOthers,
    handler: async (_request, reply) =>
      reply
        .headers({ 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8', 'Cache-Control': 'no-store' })
        .send(prometheusText(telemetry)),
  }
}
