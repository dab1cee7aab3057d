;;; jumpseat-turn.el --- Turns of chats and edits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Starts turns with `chat/start' and `edit/start', and receives their deltas.
;; Each turn has its own id, by which it can be stopped, because jsonrpc.el hides
;; the ids of requests.

;;; Code:

(require 'jumpseat-rpc)

(cl-defstruct (jumpseat--turn (:constructor jumpseat-turn--make) (:copier nil))
  id
  on-delta                   ; see `jumpseat--turn-start'
  on-end
  (ended nil)
  (stopped nil))             ; whether the daemon was asked to stop the turn

(defvar jumpseat-turn--running nil "The running turns.")
(defvar jumpseat-turn--count 0 "The number of turns so far.")

(defun jumpseat-turn--deliver (id delta)
  "Deliver DELTA to the turn with this ID."
  (when-let ((turn (seq-find (lambda (each) (equal (jumpseat--turn-id each) id))
                             jumpseat-turn--running)))
    (funcall (jumpseat--turn-on-delta turn) delta)))

(jumpseat--inbox-on 'chat/delta
                  (lambda (params)
                    (jumpseat-turn--deliver (plist-get params :turnId) (plist-get params :delta))))
(jumpseat--inbox-on '$/progress
                  (lambda (params)
                    (jumpseat-turn--deliver (plist-get params :token)
                                            (append '(:type "progress") (plist-get params :value)))))

(defun jumpseat-turn--finish (turn err result)
  "End TURN with ERR or RESULT."
  (unless (jumpseat--turn-ended turn)
    (setf (jumpseat--turn-ended turn) t)
    (setq jumpseat-turn--running (delq turn jumpseat-turn--running))
    (funcall (jumpseat--turn-on-end turn)
             (list :error err :result result
                   :cancelled (eql (plist-get err :code) -32800)))))

(defun jumpseat--turn-start (method params on-delta on-end)
  "Start a turn with the request METHOD and PARAMS, and return the turn.
ON-DELTA is called with each delta, and with the values of `$/progress' as
deltas of the type \"progress\".  ON-END is called once with a property list:
:error or :result, and :cancelled."
  (let* ((id (format "emacs-%d-%.6f-%d" (emacs-pid) (float-time)
                     (setq jumpseat-turn--count (1+ jumpseat-turn--count))))
         (turn (jumpseat-turn--make :id id :on-delta on-delta :on-end on-end)))
    (push turn jumpseat-turn--running)
    (jumpseat--rpc-request method (append (list :turnId id :workDoneToken id) params)
                           (lambda (err result) (jumpseat-turn--finish turn err result)))
    turn))

(defun jumpseat--turn-stop (turn)
  "Stop TURN.  The text received so far stays."
  (unless (or (jumpseat--turn-ended turn) (jumpseat--turn-stopped turn))
    (setf (jumpseat--turn-stopped turn) t)
    (jumpseat--rpc-request "chat/cancel" (list :turnId (jumpseat--turn-id turn))
                           (lambda (err answer)
                             (unless (or err (jumpseat--true-p (plist-get answer :cancelled)))
                               (setf (jumpseat--turn-stopped turn) nil))))))

(defun jumpseat--turn-decide (turn id decision callback &rest more)
  "Send DECISION, \"allow\" or \"deny\", about the tool call ID of TURN.
CALLBACK is as for `jumpseat--rpc-request', and MORE are further params."
  (jumpseat--rpc-request
   "tools/decide"
   (append (list :turnId (jumpseat--turn-id turn) :toolUseId id :decision decision) more)
   callback))

(provide 'jumpseat-turn)
;;; jumpseat-turn.el ends here
