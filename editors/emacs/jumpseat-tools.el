;;; jumpseat-tools.el --- Choose the tools of a chat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A window with the daemon's tool servers, in which the user switches the tools
;; of a chat on and off, and trusts servers.

;;; Code:

(require 'jumpseat-rpc)
(require 'jumpseat-transcript)
(require 'jumpseat-ui)
(require 'jumpseat-view)
(require 'jumpseat-workspace)

(defcustom jumpseat-tools nil
  "The tools that models may call in new chats.
Each is a selector server/tool, such as \"files/*\": a `*' after the slash
matches any characters.  \\[jumpseat-tools] changes the tools of one chat."
  :type '(repeat string)
  :group 'jumpseat)

(defvar-local jumpseat-tools--chat nil "The chat whose tools this window shows.")
(defvar-local jumpseat-tools--place nil
  "A marker in the chat at the conversation whose tools this window shows.")
(defvar-local jumpseat-tools--chosen nil
  "The selectors of the tools that this window shows as switched on.")
(defvar-local jumpseat-tools--rows nil "The answer to `tools/list' that this window shows.")

(defun jumpseat-tools--read (chat place callback)
  "Call CALLBACK in CHAT with the selectors of its conversation at PLACE."
  (with-current-buffer chat
    (jumpseat--transcript-parse-here
     (jumpseat--make-callback
      (lambda (conversation)
        (when (buffer-live-p chat)
          (with-current-buffer chat
            (funcall callback (jumpseat--list (plist-get conversation :daemonTools)))))))
     place)))

(defun jumpseat-tools--describe (selectors)
  "Return a text with the servers of SELECTORS, or nil if there are no selectors."
  (when selectors
    (concat "tools: "
            (string-join (seq-uniq (mapcar (lambda (each) (car (split-string each "/"))) selectors))
                         ", "))))

(defun jumpseat--tools-show-in-header ()
  "Show the servers of this chat's tools in its header line."
  (if (null (jumpseat--transcript-value "tools"))
      (jumpseat--view-update :tools nil)
    (jumpseat-tools--read
     (current-buffer) nil
     (lambda (selectors)
       (jumpseat--view-update :tools (jumpseat-tools--describe selectors))))))

;;; The choice

(defun jumpseat-tools--match-p (selector server tool)
  "Whether SELECTOR matches TOOL of SERVER."
  (string-match-p (concat "\\`" (mapconcat #'regexp-quote (split-string selector "\\*") ".*") "\\'")
                  (concat server "/" tool)))

(defun jumpseat-tools--chosen-p (server tool chosen)
  "Whether one of the selectors CHOSEN matches TOOL of SERVER."
  (seq-some (lambda (each) (jumpseat-tools--match-p each server tool)) chosen))

(defun jumpseat-tools--names (rows server)
  "Return the names of the tools of SERVER in ROWS."
  (mapcar (lambda (row) (plist-get row :tool))
          (seq-filter (lambda (row) (equal server (plist-get row :server))) (plist-get rows :tools))))

(defun jumpseat-tools--switch (chosen rows server tool)
  "Switch TOOL of SERVER on or off, and return the new selectors.
CHOSEN are the previous selectors, and ROWS is the answer to `tools/list'.  If
TOOL is nil, switch the whole server."
  (let* ((all (concat server "/*"))
         (names (jumpseat-tools--names rows server))
         (others (seq-remove (lambda (each) (string-prefix-p (concat server "/") each)) chosen))
         (now (seq-filter (lambda (each) (jumpseat-tools--chosen-p server each chosen)) names))
         (next (if (member tool now) (remove tool now) (append now (list tool)))))
    (append others
            (cond ((null tool) (unless (or now (member all chosen)) (list all)))
                  ((seq-every-p (lambda (each) (member each next)) names) (list all))
                  (t (mapcar (lambda (each) (concat server "/" each)) next))))))

;;; The window

(defvar jumpseat-tools-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'jumpseat-tools-switch)
    (define-key map (kbd "SPC") #'jumpseat-tools-switch)
    (define-key map [mouse-1] #'jumpseat-tools-switch)
    (define-key map "R" #'jumpseat-tools-restart)
    (define-key map "t" #'jumpseat-tools-trust)
    (define-key map "n" #'next-line)
    (define-key map "p" #'previous-line)
    map)
  "Keymap for the window of tools; the file jumpseat.el adds a key that signs in.")

(define-derived-mode jumpseat-tools-mode jumpseat-ui-mode "Tools"
  "The mode of the window in which the tools of a chat are chosen."
  :interactive nil
  (visual-line-mode -1)
  (setq truncate-lines t))

(defun jumpseat-tools--describe-state (row)
  "Describe the state of the server in ROW."
  (concat (string-replace "_" " " (plist-get row :state))
          (if-let ((reason (plist-get row :error)))
              (concat ": " (string-remove-suffix "." reason))
            "")))

(defun jumpseat-tools--describe-server (row)
  "Describe the origin, the state and the definition of the server in ROW."
  (concat (pcase (plist-get row :origin) ("builtin" "built in") (origin origin))
          ", " (jumpseat-tools--describe-state row)
          (if (equal "builtin" (plist-get row :origin)) ""
            (concat "  " (plist-get row :definition)))))

(defun jumpseat-tools--make-line (mark name note server tool)
  "Return a line of the window with MARK, NAME and NOTE for TOOL of SERVER."
  (propertize (concat mark " " name "  " (propertize note 'face 'jumpseat-note))
              'jumpseat-server server 'jumpseat-tool tool 'mouse-face 'highlight))

(defun jumpseat-tools--make-tool-line (row width chosen)
  "Return the line of the tool in ROW, whose name is padded to WIDTH.
CHOSEN are the selectors of the chat."
  (let ((server (plist-get row :server)) (tool (plist-get row :tool)))
    (jumpseat-tools--make-line
     (if (jumpseat-tools--chosen-p server tool chosen) "  [x]" "  [ ]")
     (string-pad tool width)
     (format "%-5s  %5d tokens  %s" (plist-get row :decision) (plist-get row :tokens)
             (car (split-string (plist-get row :description) "\n")))
     server tool)))

(defun jumpseat-tools--make-server-lines (server rows chosen)
  "Return the lines of SERVER, one of the servers in ROWS, and of its tools.
CHOSEN are the selectors of the chat."
  (let* ((name (plist-get server :name))
         (tools (seq-filter (lambda (row) (equal name (plist-get row :server)))
                            (plist-get rows :tools)))
         (count (seq-count (lambda (row)
                             (jumpseat-tools--chosen-p name (plist-get row :tool) chosen))
                           tools))
         (width (seq-max (cons 0 (mapcar (lambda (row) (length (plist-get row :tool))) tools)))))
    (append
     (list ""
           (jumpseat-tools--make-line
            (cond ((or (member (concat name "/*") chosen) (and tools (= count (length tools)))) "[x]")
                  ((> count 0) "[-]")
                  (t "[ ]"))
            (propertize name 'face 'bold) (jumpseat-tools--describe-server server) name nil))
     (mapcar (lambda (row) (jumpseat-tools--make-tool-line row width chosen)) tools))))

(defun jumpseat-tools--read-line ()
  "Return the server and the tool of the line at point, as a list."
  (mapcar (lambda (property) (get-text-property (line-beginning-position) property))
          '(jumpseat-server jumpseat-tool)))

(defun jumpseat-tools--go-to (place line)
  "Go to the line of PLACE, a server and a tool, or else to line number LINE."
  (goto-char (point-min))
  (while (and (car place) (not (eobp)) (not (equal place (jumpseat-tools--read-line))))
    (forward-line))
  (when (or (null (car place)) (eobp))
    (goto-char (point-min))
    (forward-line (1- line))))

(defun jumpseat-tools--draw ()
  "Show the tools again in this window, with point at the same tool."
  (let* ((chosen jumpseat-tools--chosen)
         (folder (with-current-buffer jumpseat-tools--chat (jumpseat--workspace-folder)))
         (place (jumpseat-tools--read-line))
         (line (line-number-at-pos))
         (inhibit-read-only t))
    (erase-buffer)
    (insert (format "Tools of %s\n" (buffer-name jumpseat-tools--chat))
            (propertize
             (concat (if folder (concat "Folder of the file tools: " (abbreviate-file-name folder))
                       "The file tools are not available here: this chat's directory is your home \
directory,\nthe root of the file system, or remote.")
                     "\nRET switches a tool or a server, R restarts a server, i signs in to it, t trusts "
                     "it,\ng reloads the tools of all servers, q closes.\n")
             'face 'jumpseat-note)
            (string-join
             (seq-mapcat (lambda (server)
                           (jumpseat-tools--make-server-lines server jumpseat-tools--rows chosen))
                         (plist-get jumpseat-tools--rows :servers))
             "\n")
            "\n")
    (jumpseat-tools--go-to place line)))

(defun jumpseat--tools-server-at-point ()
  "Return the name of the server of the line at point, or signal a `user-error'."
  (or (get-text-property (line-beginning-position) 'jumpseat-server)
      (user-error "There is no tool or server on this line")))

(defun jumpseat-tools-restart ()
  "Start the tool server at point again."
  (interactive)
  (let ((buffer (current-buffer)) (server (jumpseat--tools-server-at-point)))
    (jumpseat--rpc-request
     "mcp/restart" (list :server server)
     (jumpseat--make-callback
      (lambda (row)
        (jumpseat--say "%s: %s." server (jumpseat-tools--describe-state row))
        (jumpseat-tools--fetch buffer nil))))))

(defun jumpseat-tools--ask-trust (row)
  "Ask whether to trust the server in ROW, or to stop trusting it."
  (yes-or-no-p
   (format "%s\n%s\n%s the server %s in this workspace? "
           (propertize "This server is defined by this Emacs, not by the configuration of the daemon:" 'face 'bold)
           (plist-get row :definition)
           (if (equal "untrusted" (plist-get row :state)) "Trust" "Stop trusting")
           (plist-get row :name))))

(defun jumpseat-tools-trust ()
  "Trust the tool server at point, or stop trusting it.
The definition of the server is shown first.  Trust applies only to this
definition, and only in the folder that was current when Emacs connected to the
daemon."
  (interactive)
  (let* ((buffer (current-buffer))
         (server (jumpseat--tools-server-at-point))
         (row (seq-find (lambda (each) (equal server (plist-get each :name)))
                        (plist-get jumpseat-tools--rows :servers))))
    (unless (equal "workspace" (plist-get row :origin))
      (user-error "%s is trusted already: it comes from the daemon or its configuration" server))
    (when (jumpseat-tools--ask-trust row)
      (jumpseat--rpc-request
       "mcp/trust"
       (list :server server :fingerprint (plist-get row :fingerprint)
             :trusted (if (equal "untrusted" (plist-get row :state)) t :json-false))
       (jumpseat--make-callback
        (lambda (changed)
          (jumpseat--say "%s: %s." server (jumpseat-tools--describe-state changed))
          (jumpseat-tools--fetch buffer nil)))))))

(defun jumpseat-tools-switch ()
  "Switch the tool or the server at point on or off."
  (interactive)
  (unless (buffer-live-p jumpseat-tools--chat) (user-error "The chat was closed"))
  (setq jumpseat-tools--chosen
        (jumpseat-tools--switch jumpseat-tools--chosen jumpseat-tools--rows
                                (jumpseat--tools-server-at-point)
                                (get-text-property (line-beginning-position) 'jumpseat-tool)))
  (jumpseat-tools--draw)
  (let ((chosen jumpseat-tools--chosen)
        (place jumpseat-tools--place))
    (with-current-buffer jumpseat-tools--chat
      (jumpseat--transcript-update
       (lambda (now) (append (list :daemonTools (vconcat chosen)) now))
       #'jumpseat--tools-show-in-header place))))

(defun jumpseat-tools--fetch (buffer refresh)
  "Fetch the tools for the window BUFFER; with REFRESH, ask the servers again."
  (jumpseat--rpc-request
   "tools/list" (when refresh '(:refresh t))
   (jumpseat--make-callback
    (lambda (rows)
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (setq jumpseat-tools--rows rows)
          (when (buffer-live-p jumpseat-tools--chat)
            (jumpseat-tools--read
             jumpseat-tools--chat jumpseat-tools--place
             (lambda (selectors)
               (when (buffer-live-p buffer)
                 (with-current-buffer buffer
                   (setq jumpseat-tools--chosen selectors)
                   (jumpseat-tools--draw))))))))))))

(jumpseat--inbox-on 'tools/didChange
                    (lambda (_params)
                      (when-let ((buffer (get-buffer "*jumpseat tools*")))
                        (jumpseat-tools--fetch buffer nil))))

(defun jumpseat-tools ()
  "Choose the tools that the model may call in this chat."
  (interactive)
  (unless jumpseat-chat-mode
    (user-error "This is not a chat; %s opens one" (substitute-command-keys "\\[jumpseat]")))
  (let ((chat (current-buffer))
        (place (jumpseat--outline-point))
        (buffer (get-buffer-create "*jumpseat tools*")))
    (with-current-buffer buffer
      (jumpseat-tools-mode)
      (setq jumpseat-tools--chat chat
            jumpseat-tools--place place)
      (setq-local revert-buffer-function
                  (lambda (&rest _) (jumpseat-tools--fetch buffer t))))
    (jumpseat--ui-show "*jumpseat tools*" '("Asking the daemon …"))
    (select-window (get-buffer-window buffer t))
    (jumpseat-tools--fetch buffer nil)))

(provide 'jumpseat-tools)
;;; jumpseat-tools.el ends here
